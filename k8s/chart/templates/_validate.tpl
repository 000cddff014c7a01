{{/*
What the schema of the values can't say: settings that exclude or need one another. Every template that makes a pod
includes this, so that nothing is rendered from values that can't work.
*/}}
{{- define "headwater.validate" -}}
{{- $v := .Values -}}
{{- $faults := list -}}
{{- if not (include "headwater.kafka" .) -}}
{{- $faults = append $faults "kafka.bootstrapServers is not set (or set trial.kafka.enabled to try headwater)" -}}
{{- end -}}
{{- if not (include "headwater.neo4j" .) -}}
{{- $faults = append $faults "neo4j.uri is not set (or set trial.neo4j.enabled to try headwater)" -}}
{{- end -}}
{{- if and $v.kafka.bootstrapServers $v.trial.kafka.enabled -}}
{{- $faults = append $faults "kafka.bootstrapServers and trial.kafka.enabled exclude one another" -}}
{{- end -}}
{{- if and $v.neo4j.uri $v.trial.neo4j.enabled -}}
{{- $faults = append $faults "neo4j.uri and trial.neo4j.enabled exclude one another" -}}
{{- end -}}
{{- if and $v.trial.neo4j.enabled (not $v.neo4j.secret) -}}
{{- $faults = append $faults "trial.neo4j needs neo4j.secret: a Secret with its first password" -}}
{{- end -}}
{{- if and $v.trial.kafka.enabled (ne $v.kafka.securityProtocol "PLAINTEXT") -}}
{{- $faults = append $faults "trial.kafka speaks PLAINTEXT alone, not kafka.securityProtocol" -}}
{{- end -}}
{{- if and (hasPrefix "SASL" $v.kafka.securityProtocol) (not $v.kafka.sasl.secret) -}}
{{- $faults = append $faults (printf "kafka.securityProtocol %s needs kafka.sasl.secret" $v.kafka.securityProtocol) -}}
{{- end -}}
{{- if and $v.kafka.sasl.secret (not (hasPrefix "SASL" $v.kafka.securityProtocol)) -}}
{{- $faults = append $faults (printf "kafka.sasl.secret is not used with kafka.securityProtocol %s" $v.kafka.securityProtocol) -}}
{{- end -}}
{{- if and (or $v.kafka.tls.ca.secret $v.kafka.tls.ca.configMap $v.kafka.tls.client.secret) (not (hasSuffix "SSL" $v.kafka.securityProtocol)) -}}
{{- $faults = append $faults (printf "kafka.tls is not used with kafka.securityProtocol %s" $v.kafka.securityProtocol) -}}
{{- end -}}
{{- if and $v.kafka.tls.ca.secret $v.kafka.tls.ca.configMap -}}
{{- $faults = append $faults "kafka.tls.ca takes a secret or a configMap, not both" -}}
{{- end -}}
{{- $registry := $v.schemaRegistry | default dict -}}
{{- if and (include "headwater.hasRegistryCA" .) $registry.ca.secret $registry.ca.configMap -}}
{{- $faults = append $faults "schemaRegistry.ca takes a secret or a configMap, not both" -}}
{{- end -}}
{{- if and (or $registry.secret (include "headwater.hasRegistryCA" .)) (not $registry.url) -}}
{{- $faults = append $faults "schemaRegistry.secret and schemaRegistry.ca are not used without schemaRegistry.url" -}}
{{- end -}}
{{- if include "headwater.hasNeo4jCA" . -}}
{{- if and $v.neo4j.ca.secret $v.neo4j.ca.configMap -}}
{{- $faults = append $faults "neo4j.ca takes a secret or a configMap, not both" -}}
{{- end -}}
{{- if and $v.neo4j.uri (not (contains "+s://" $v.neo4j.uri)) -}}
{{- $faults = append $faults "neo4j.ca is not used with this neo4j.uri: write bolt+s:// or neo4j+s://" -}}
{{- end -}}
{{- end -}}
{{- if and $v.customCA.secret $v.customCA.configMap -}}
{{- $faults = append $faults "customCA takes a secret or a configMap, not both" -}}
{{- end -}}
{{- if and (ne $v.mode "local") (gt (int $v.consumer.executors.instances) 0) (include "headwater.hasVolume" .) (not (has "ReadWriteMany" $v.checkpoint.volume.accessModes)) -}}
{{- $faults = append $faults (printf "mode %s needs a checkpoint that any node can reach: checkpoint.url, or checkpoint.volume.accessModes [ReadWriteMany]" $v.mode) -}}
{{- end -}}
{{- if and $v.retention.olderThan (hasKey $v.cronJobs "retention") -}}
{{- $faults = append $faults "retention.olderThan makes a CronJob of the name retention: give cronJobs.retention another one" -}}
{{- end -}}
{{- if and (ne $v.mode "local") (not $v.checkpoint.url) (not $v.checkpoint.volume.enabled) -}}
{{- $faults = append $faults (printf "mode %s needs checkpoint.url or checkpoint.volume" $v.mode) -}}
{{- end -}}
{{- if and (eq $v.mode "sparkOperator") (not (.Capabilities.APIVersions.Has "sparkoperator.k8s.io/v1beta2")) -}}
{{- $faults = append $faults "mode sparkOperator needs the Spark operator: the cluster has no sparkoperator.k8s.io/v1beta2 (helm template: --api-versions sparkoperator.k8s.io/v1beta2)" -}}
{{- end -}}
{{- if and $v.web.enabled (not $v.web.tokens.secret) -}}
{{- $faults = append $faults "web needs web.tokens.secret: it lets nobody in without a token" -}}
{{- end -}}
{{- if and $v.web.operatorUsers (not $v.web.trustedHeader) -}}
{{- $faults = append $faults "web.operatorUsers needs web.trustedHeader: it names the users" -}}
{{- end -}}
{{- if and $v.web.trustedHeader (not $v.web.trustedProxies) -}}
{{- $faults = append $faults "web.trustedHeader needs web.trustedProxies: the addresses of the proxies that set it" -}}
{{- end -}}
{{- if and $v.web.ingress.enabled (not $v.web.ingress.hosts) -}}
{{- $faults = append $faults "web.ingress needs hosts" -}}
{{- end -}}
{{- if and (eq $v.topics.mode "strimzi") (not $v.topics.strimzi.cluster) -}}
{{- $faults = append $faults "topics.mode strimzi needs topics.strimzi.cluster" -}}
{{- end -}}
{{- if and $v.topics.strimzi.user.enabled (ne $v.topics.mode "strimzi") -}}
{{- $faults = append $faults "topics.strimzi.user needs topics.mode strimzi" -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled $v.metrics.podMonitor.enabled -}}
{{- $faults = append $faults "metrics.serviceMonitor and metrics.podMonitor would count everything twice" -}}
{{- end -}}
{{- if and (eq $v.mode "sparkOperator") $v.metrics.serviceMonitor.enabled -}}
{{- $faults = append $faults "mode sparkOperator has no Service for metrics: use metrics.podMonitor" -}}
{{- end -}}
{{- range $name, $value := $v.consumer.spark.conf -}}
{{- if contains "," (toString $value) -}}
{{- $faults = append $faults (printf "consumer.spark.conf %s: a value can't have a comma" $name) -}}
{{- end -}}
{{- end -}}
{{- with dig "limits" "memory" "" $v.consumer.resources -}}
{{- $heap := include "headwater.mebibytes" $v.consumer.spark.driverMemory | float64 -}}
{{- $limit := include "headwater.mebibytes" . | float64 -}}
{{- if and (eq $v.mode "local") (gt (mulf $heap 1.5) $limit) -}}
{{- $faults = append $faults (printf "consumer.resources.limits.memory %s leaves no room for Python beside consumer.spark.driverMemory %s: give half as much again" . $v.consumer.spark.driverMemory) -}}
{{- end -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "\n\n  %s\n" (join "\n  " $faults)) -}}
{{- end -}}
{{- end -}}

{{/* Not empty where the checkpoint is on a claim that this chart makes (of another claim it can't know the modes). */}}
{{- define "headwater.hasVolume" -}}
{{- if and (not .Values.checkpoint.url) .Values.checkpoint.volume.enabled (not .Values.checkpoint.volume.existingClaim) -}}yes{{- end -}}
{{- end -}}

{{/* Mebibytes of 1g, 512m (Java) or 1Gi, 512Mi (Kubernetes); the schema sees to the form. */}}
{{- define "headwater.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" . | float64 -}}
{{- ternary (mulf $number 1024) $number (regexMatch "(?i)^[0-9]+gi?$" .) -}}
{{- end -}}
