{{- define "headwater.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that choose pods: they can't change in an upgrade. Takes (list . component). */}}
{{- define "headwater.selector" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: {{ default $top.Chart.Name $top.Values.nameOverride }}
app.kubernetes.io/instance: {{ $top.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of pods: those that choose them, and the user's; none that a new version of the chart would change. */}}
{{- define "headwater.podLabels" -}}
{{ include "headwater.selector" . }}
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* All labels of an object. Takes (list . component). */}}
{{- define "headwater.labels" -}}
{{- $top := index . 0 -}}
{{ include "headwater.selector" . }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" }}
{{- with $top.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "headwater.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "headwater.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "headwater.image" -}}
{{- $image := .Values.image -}}
{{- $repository := ternary $image.repository (printf "%s/%s" $image.registry $image.repository) (empty $image.registry) -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The address of Kafka: as given, or that of the trial broker. */}}
{{- define "headwater.kafka" -}}
{{- if .Values.kafka.bootstrapServers -}}
{{- .Values.kafka.bootstrapServers -}}
{{- else if .Values.trial.kafka.enabled -}}
{{- printf "%s-kafka:9092" (include "headwater.fullname" .) -}}
{{- end -}}
{{- end -}}

{{- define "headwater.neo4j" -}}
{{- if .Values.neo4j.uri -}}
{{- .Values.neo4j.uri -}}
{{- else if .Values.trial.neo4j.enabled -}}
{{- printf "bolt://%s-neo4j:7687" (include "headwater.fullname" .) -}}
{{- end -}}
{{- end -}}

{{- define "headwater.deadLetterTopic" -}}
{{- default (printf "%s.dead" .Values.kafka.topic) .Values.kafka.deadLetterTopic -}}
{{- end -}}

{{/* Seconds that a consumer has to finish its batch: the longest transaction, and the commit of Spark. */}}
{{- define "headwater.grace" -}}
{{- $given := .Values.consumer.terminationGracePeriodSeconds -}}
{{- ternary (add (ceil .Values.neo4j.writeTimeout) 30) $given (kindIs "invalid" $given) | int -}}
{{- end -}}
