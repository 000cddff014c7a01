{{/*
A server for trying, as one pod. Takes a mapping: top, name, image, port, user, storage, data (path), resources, env
(a text), probe (a text).
*/}}
{{- define "headwater.trialServer" -}}
{{- $top := .top -}}
{{- $name := printf "%s-%s" (include "headwater.fullname" $top) .name -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels:
    {{- include "headwater.labels" (list $top .name) | nindent 4 }}
spec:
  selector:
    {{- include "headwater.selector" (list $top .name) | nindent 4 }}
  ports:
    - {name: {{ .portName }}, port: {{ .port }}, targetPort: server}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels:
    {{- include "headwater.labels" (list $top .name) | nindent 4 }}
spec:
  replicas: 1
  serviceName: {{ $name }}
  selector:
    matchLabels:
      {{- include "headwater.selector" (list $top .name) | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "headwater.podLabels" (list $top .name) | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
      securityContext:
        runAsNonRoot: true
        runAsUser: {{ .user }}
        runAsGroup: {{ .user }}
        fsGroup: {{ .user }}
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: {{ .name }}
          image: {{ .image | quote }}
          # These images write their configuration when they start, so their root file system is not read-only.
          securityContext:
            allowPrivilegeEscalation: false
            capabilities: {drop: [ALL]}
          env:
            {{- .env | nindent 12 }}
          ports:
            - {name: server, containerPort: {{ .port }}}
          startupProbe:
            tcpSocket: {port: server}
            periodSeconds: 5
            failureThreshold: 60
          readinessProbe:
            tcpSocket: {port: server}
            periodSeconds: 5
          livenessProbe:
            tcpSocket: {port: server}
            periodSeconds: 20
            failureThreshold: 6
          resources:
            {{- toYaml .resources | nindent 12 }}
          volumeMounts:
            - {name: data, mountPath: {{ .data }}}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests: {storage: {{ .storage }}}
{{- end -}}
