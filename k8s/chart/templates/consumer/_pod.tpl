{{/* The consumer's container: the same in a StatefulSet and, under another name, in a SparkApplication's driver. */}}
{{- define "headwater.consumerVolumes" -}}
{{- include "headwater.volumes" . }}
- name: home
  {{- if .Values.checkpoint.url }}
  emptyDir: {}
  {{- else if .Values.checkpoint.volume.enabled }}
  persistentVolumeClaim: {claimName: {{ default (printf "%s-checkpoint" (include "headwater.fullname" .)) .Values.checkpoint.volume.existingClaim }}}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- if eq .Values.mode "kubernetes" }}
- name: executor
  configMap: {name: {{ include "headwater.fullname" . }}-executor}
{{- end }}
{{- with .Values.consumer.producerKeys }}
{{- if .secret }}
- name: producer-keys
  {{- include "headwater.oneFile" (list .secret "" .key "keys") | nindent 2 }}
{{- end }}
{{- end }}
{{- with .Values.consumer.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "headwater.consumerMounts" -}}
{{- include "headwater.mounts" . }}
- {name: home, mountPath: /var/lib/headwater}
{{- if eq .Values.mode "kubernetes" }}
- {name: executor, mountPath: /etc/headwater/executor, readOnly: true}
{{- end }}
{{- with .Values.consumer.producerKeys }}
{{- if .secret }}
- {name: producer-keys, mountPath: /etc/headwater/producer-keys, readOnly: true}
{{- end }}
{{- end }}
{{- with .Values.consumer.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "headwater.consumerEnvironment" -}}
envFrom:
  - configMapRef: {name: {{ include "headwater.fullname" . }}}
  {{- with .Values.consumer.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $secret := include "headwater.secretEnv" . }}
{{- if or $secret .Values.consumer.extraEnv }}
env:
  {{- with $secret }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .Values.consumer.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "headwater.probes" -}}
{{- range $name, $path := dict "startupProbe" .paths.live "livenessProbe" .paths.live "readinessProbe" .paths.ready }}
{{ $name }}:
  httpGet: {path: {{ $path | quote }}, port: http}
  {{- toYaml (index $.probes $name) | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "headwater.consumerAnnotations" -}}
checksum/settings: {{ include "headwater.consumerSettings" . | sha256sum }}
{{- if eq .Values.mode "kubernetes" }}
checksum/executor: {{ include "headwater.executorPod" . | sha256sum }}
{{- end }}
{{- with .Values.consumer.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "headwater.placement" -}}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- with index $ $name }}
{{ $name }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headwater.consumerInits" -}}
{{- include "headwater.keystoreInit" . }}
{{- if .Values.consumer.waitForServers }}
{{ include "headwater.waitInit" (list . "configMap") }}
{{- end }}
{{- with .Values.consumer.initContainers }}
{{ toYaml . }}
{{- end }}
{{- end -}}
