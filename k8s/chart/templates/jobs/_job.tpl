{{/*
A Job that prepares a server. As a hook it comes before the consumer; without hooks it is named by what is in it, since
a Job can't be changed. Takes a mapping: top, name (short), args, settings (more environment).
*/}}
{{- define "headwater.job" -}}
{{- $top := .top -}}
{{- $hooks := $top.Values.hooks -}}
{{- $spec := include "headwater.jobSpec" . -}}
{{- $name := printf "%s-%s" (include "headwater.fullname" $top) .name -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ ternary $name (printf "%s-%s" $name (sha256sum $spec | trunc 8)) $hooks.enabled }}
  labels:
    {{- include "headwater.labels" (list $top .name) | nindent 4 }}
  {{- if $hooks.enabled }}
  annotations:
    # Servers that come with the release are not there before it.
    helm.sh/hook: {{ ternary "post-install,post-upgrade" "pre-install,pre-upgrade" (or $top.Values.trial.kafka.enabled $top.Values.trial.neo4j.enabled) }}
    helm.sh/hook-weight: {{ .weight | quote }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
  {{- end }}
spec:
  {{- $spec | nindent 2 }}
{{- end -}}

{{- define "headwater.jobSpec" -}}
{{- $top := .top -}}
{{- $hooks := $top.Values.hooks -}}
backoffLimit: {{ $hooks.backoffLimit }}
activeDeadlineSeconds: {{ $hooks.activeDeadlineSeconds }}
{{- if not (kindIs "invalid" $hooks.ttlSecondsAfterFinished) }}
ttlSecondsAfterFinished: {{ $hooks.ttlSecondsAfterFinished }}
{{- end }}
# Exit code 2 is wrong settings: trying again would not help.
podFailurePolicy:
  rules:
    - action: FailJob
      onExitCodes: {containerName: {{ .name }}, operator: In, values: [2]}
      onPodConditions: []  # Kubernetes 1.28 wants it
template:
  metadata:
    labels:
      {{- include "headwater.podLabels" (list $top .name) | nindent 6 }}
    {{- with $hooks.podAnnotations }}
    annotations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  spec:
    {{- include "headwater.commandPod" . | nindent 4 }}
{{- end -}}

{{/* A pod that runs one command against the servers. Takes a mapping: top, name, args. */}}
{{- define "headwater.commandPod" -}}
{{- $top := .top -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "headwater.podSecurity" $top | nindent 2 }}
{{- include "headwater.pullSecrets" $top }}
{{- with include "headwater.keystoreInit" $top }}
initContainers:
  {{- . | nindent 2 }}
{{- end }}
containers:
  - {{- include "headwater.container" (list $top .name) | nindent 4 }}
    {{- with .command }}
    command: {{ toJson . }}
    {{- end }}
    args: {{ toJson .args }}
    {{- include "headwater.environment" (list $top "inline") | nindent 4 }}
    resources:
      {{- toYaml $top.Values.hooks.resources | nindent 6 }}
    volumeMounts:
      {{- include "headwater.mounts" $top | nindent 6 }}
volumes:
  {{- include "headwater.volumes" $top | nindent 2 }}
{{- end -}}
