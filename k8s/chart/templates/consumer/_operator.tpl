{{- define "headwater.operatorDriver" -}}
metadata:
  labels:
    {{- include "headwater.podLabels" (list . "consumer") | nindent 4 }}
    {{- with .Values.consumer.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- include "headwater.consumerAnnotations" . | nindent 4 }}
spec:
  serviceAccountName: {{ include "headwater.serviceAccount" . }}
  automountServiceAccountToken: true
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "headwater.grace" . }}
  securityContext:
    {{- include "headwater.podSecurity" . | nindent 4 }}
  {{- include "headwater.pullSecrets" . | nindent 2 }}
  {{- include "headwater.placement" .Values.consumer | nindent 2 }}
  {{- with include "headwater.consumerInits" . }}
  initContainers:
    {{- . | nindent 4 }}
  {{- end }}
  containers:
    - {{- include "headwater.container" (list . "spark-kubernetes-driver") | nindent 6 }}
      {{- include "headwater.consumerEnvironment" . | nindent 6 }}
      # The signal of Kubernetes goes to the JVM, which would die in the middle of a batch: drain first.
      lifecycle:
        preStop: {exec: {command: [drain]}}
      ports:
        - {name: http, containerPort: {{ .Values.consumer.httpPort }}}
      {{- include "headwater.probes" (dict "probes" .Values.consumer "paths" (dict "live" "/healthz" "ready" "/readyz")) | nindent 6 }}
      volumeMounts:
        {{- include "headwater.consumerMounts" . | nindent 8 }}
        - {name: work, mountPath: /opt/spark/work-dir}
  volumes:
    {{- include "headwater.consumerVolumes" . | nindent 4 }}
    - name: work
      emptyDir: {}
{{- end -}}

{{- define "headwater.operatorSpec" -}}
type: Python
pythonVersion: "3"
mode: cluster
sparkVersion: 4.2.0
image: {{ include "headwater.image" .top | quote }}
imagePullPolicy: {{ .top.Values.image.pullPolicy }}
{{- with .top.Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
mainApplicationFile: local:///opt/headwater/bin/consume.py
restartPolicy: {type: Always}
sparkConf:
  {{- toYaml .conf | nindent 2 }}
driver:
  cores: {{ .top.Values.consumer.spark.cores }}
  memory: {{ .top.Values.consumer.spark.driverMemory }}
  memoryOverhead: {{ .overhead }}m
  serviceAccount: {{ include "headwater.serviceAccount" .top }}
  template:
    {{- include "headwater.operatorDriver" .top | nindent 4 }}
executor:
  instances: {{ .top.Values.consumer.executors.instances }}
  cores: {{ .top.Values.consumer.executors.cores }}
  memory: {{ .top.Values.consumer.executors.memory }}
  memoryOverhead: {{ .top.Values.consumer.executors.memoryOverhead }}
  serviceAccount: {{ include "headwater.fullname" .top }}-executor
  template:
    {{- pick .executor "metadata" "spec" | toYaml | nindent 4 }}
{{- end -}}
