{{- define "headwater.podSecurity" -}}
runAsNonRoot: true
runAsUser: 185
runAsGroup: 185
fsGroup: 185
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "headwater.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 185
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "headwater.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The first lines of every container that runs this image. Takes (list . name). */}}
{{- define "headwater.container" -}}
{{- $top := index . 0 -}}
name: {{ index . 1 }}
image: {{ include "headwater.image" $top | quote }}
imagePullPolicy: {{ $top.Values.image.pullPolicy }}
securityContext:
  {{- include "headwater.containerSecurity" $top | nindent 2 }}
{{- end -}}

{{/* What every pod that speaks to the servers mounts, beside its own. */}}
{{- define "headwater.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- $tls := .Values.kafka.tls }}
{{- if or $tls.ca.secret $tls.ca.configMap }}
- {name: kafka-ca, mountPath: /etc/headwater/kafka-ca, readOnly: true}
{{- end }}
{{- if and $tls.client.secret $tls.client.key }}
- {name: kafka-client, mountPath: /etc/headwater/kafka-client, readOnly: true}
{{- else if $tls.client.secret }}
- {name: keystore, mountPath: /run/headwater, readOnly: true}
{{- end }}
{{- if include "headwater.hasRegistryCA" . }}
- {name: schema-registry-ca, mountPath: /etc/headwater/schema-registry-ca, readOnly: true}
{{- end }}
{{- if include "headwater.hasNeo4jCA" . }}
- {name: neo4j-ca, mountPath: /etc/headwater/neo4j-ca, readOnly: true}
{{- end }}
{{- if or .Values.customCA.secret .Values.customCA.configMap }}
- {name: custom-ca, mountPath: /etc/headwater/custom-ca, readOnly: true}
{{- end }}
{{- end -}}

{{- define "headwater.volumes" -}}
- name: tmp
  emptyDir: {}
{{- $tls := .Values.kafka.tls }}
{{- if or $tls.ca.secret $tls.ca.configMap }}
- name: kafka-ca
  {{- include "headwater.oneFile" (list $tls.ca.secret $tls.ca.configMap $tls.ca.key "ca.crt") | nindent 2 }}
{{- end }}
{{- if $tls.client.secret }}
- name: kafka-client
  {{- if $tls.client.key }}
  {{- include "headwater.oneFile" (list $tls.client.secret "" $tls.client.key "keystore.pem") | nindent 2 }}
  {{- else }}
  secret: {secretName: {{ $tls.client.secret | quote }}, defaultMode: 0440}
- name: keystore
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
  {{- end }}
{{- end }}
{{- if include "headwater.hasRegistryCA" . }}
{{- $ca := .Values.schemaRegistry.ca }}
- name: schema-registry-ca
  {{- include "headwater.oneFile" (list $ca.secret $ca.configMap $ca.key "ca.crt") | nindent 2 }}
{{- end }}
{{- if include "headwater.hasNeo4jCA" . }}
{{- $ca := .Values.neo4j.ca }}
- name: neo4j-ca
  {{- include "headwater.oneFile" (list $ca.secret $ca.configMap $ca.key "ca.crt") | nindent 2 }}
{{- end }}
{{- if or .Values.customCA.secret .Values.customCA.configMap }}
- name: custom-ca
  {{- include "headwater.oneFile" (list .Values.customCA.secret .Values.customCA.configMap .Values.customCA.key "ca.crt") | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A volume with one key of a Secret or ConfigMap under a fixed name. Takes (list secret configMap key file). */}}
{{- define "headwater.oneFile" -}}
{{- if index . 0 -}}
secret: {secretName: {{ index . 0 | quote }}, defaultMode: 0440, items: [{key: {{ index . 2 | quote }}, path: {{ index . 3 }}}]}
{{- else -}}
configMap: {name: {{ index . 1 | quote }}, items: [{key: {{ index . 2 | quote }}, path: {{ index . 3 }}}]}
{{- end -}}
{{- end -}}

{{/* Init containers: Kafka's clients want certificate and key in one file, and a start needs its servers. */}}
{{- define "headwater.keystoreInit" -}}
{{- $client := .Values.kafka.tls.client -}}
{{- if and $client.secret (not $client.key) }}
- {{- include "headwater.container" (list . "keystore") | nindent 2 }}
  command: [sh, -c, 'umask 077 && cat "$0" "$1" > /run/headwater/keystore.pem']
  args:
    - {{ printf "/etc/headwater/kafka-client/%s" $client.certificateKey | quote }}
    - {{ printf "/etc/headwater/kafka-client/%s" $client.privateKeyKey | quote }}
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 32Mi}
  volumeMounts:
    - {name: kafka-client, mountPath: /etc/headwater/kafka-client, readOnly: true}
    - {name: keystore, mountPath: /run/headwater}
{{- end }}
{{- end -}}

{{/* Waits until no server is away (`headwater doctor` exits with 3 while one is). Takes (list . envFrom-or-inline). */}}
{{- define "headwater.waitInit" -}}
{{- $top := index . 0 -}}
- {{- include "headwater.container" (list $top "wait-for-servers") | nindent 2 }}
  command: [sh, -c, 'until headwater doctor || [ $? -ne 3 ]; do sleep 5; done']
  {{- include "headwater.environment" . | nindent 2 }}
  resources:
    {{- toYaml $top.Values.hooks.resources | nindent 4 }}
  volumeMounts:
    {{- include "headwater.mounts" $top | nindent 4 }}
{{- end -}}

{{/* env and envFrom of a container. Takes (list . "inline") or (list . "configMap"). */}}
{{- define "headwater.environment" -}}
{{- $top := index . 0 -}}
{{- if eq (index . 1) "inline" -}}
env:
  {{- include "headwater.inlineEnv" $top | nindent 2 }}
{{- else -}}
envFrom:
  - configMapRef: {name: {{ include "headwater.fullname" $top }}}
{{- with include "headwater.secretEnv" $top }}
env:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
