{{/*
The settings of headwater by their environment names, secrets aside, as a YAML mapping of texts.
Those that tell of Kafka and Neo4j are for every command; the others for the consumer.
*/}}
{{- define "headwater.serverSettings" -}}
{{- $kafka := .Values.kafka -}}
{{- $neo4j := .Values.neo4j -}}
HEADWATER_HOME: /var/lib/headwater
HEADWATER_KAFKA_BOOTSTRAP_SERVERS: {{ include "headwater.kafka" . | quote }}
HEADWATER_KAFKA_TOPIC: {{ $kafka.topic | quote }}
HEADWATER_KAFKA_DEAD_LETTER_TOPIC: {{ include "headwater.deadLetterTopic" . | quote }}
HEADWATER_KAFKA_SECURITY_PROTOCOL: {{ $kafka.securityProtocol | quote }}
{{- if hasPrefix "SASL" $kafka.securityProtocol }}
HEADWATER_KAFKA_SASL_MECHANISM: {{ $kafka.sasl.mechanism | quote }}
{{- end }}
{{- if or $kafka.tls.ca.secret $kafka.tls.ca.configMap }}
HEADWATER_KAFKA_SSL_CA: /etc/headwater/kafka-ca/ca.crt
{{- end }}
{{- if $kafka.tls.client.secret }}
HEADWATER_KAFKA_SSL_KEYSTORE: {{ include "headwater.keystore" . }}
{{- end }}
{{- with (.Values.schemaRegistry | default dict).url }}
HEADWATER_SCHEMA_REGISTRY_URL: {{ . | quote }}
{{- end }}
{{- if include "headwater.hasRegistryCA" . }}
HEADWATER_SCHEMA_REGISTRY_CA: /etc/headwater/schema-registry-ca/ca.crt
{{- end }}
HEADWATER_NEO4J_URI: {{ include "headwater.neo4j" . | quote }}
HEADWATER_NEO4J_USER: {{ $neo4j.user | quote }}
HEADWATER_NEO4J_DATABASE: {{ $neo4j.database | quote }}
{{- if include "headwater.hasNeo4jCA" . }}
HEADWATER_NEO4J_CA: /etc/headwater/neo4j-ca/ca.crt
{{- end }}
HEADWATER_NEO4J_CONNECT_TIMEOUT: {{ $neo4j.connectTimeout | quote }}
HEADWATER_NEO4J_READ_TIMEOUT: {{ $neo4j.readTimeout | quote }}
HEADWATER_NEO4J_WRITE_TIMEOUT: {{ $neo4j.writeTimeout | quote }}
{{- if or .Values.customCA.secret .Values.customCA.configMap }}
SSL_CERT_FILE: /etc/headwater/custom-ca/ca.crt
{{- end }}
{{- end -}}

{{- define "headwater.consumerSettings" -}}
{{- $consumer := .Values.consumer -}}
{{ include "headwater.serverSettings" . }}
{{- with .Values.checkpoint.url }}
HEADWATER_CHECKPOINT: {{ . | quote }}
{{- end }}
HEADWATER_STARTING_OFFSETS: {{ $consumer.startingOffsets | quote }}
HEADWATER_MAX_OFFSETS_PER_TRIGGER: {{ $consumer.maxOffsetsPerTrigger | int64 | quote }}
{{- if ($consumer.producerKeys | default dict).secret }}
HEADWATER_PRODUCER_KEYS: /etc/headwater/producer-keys/keys
{{- end }}
HEADWATER_MAX_BATCH_BYTES: {{ $consumer.maxBatchBytes | default 100000000 | int64 | quote }}
HEADWATER_MAX_DECOMPRESSED_BYTES: {{ $consumer.maxDecompressedBytes | int64 | quote }}
HEADWATER_MAX_DECOMPRESSION_RATIO: {{ $consumer.maxDecompressionRatio | int64 | quote }}
HEADWATER_TRIGGER_MILLISECONDS: {{ $consumer.triggerMilliseconds | int64 | quote }}
HEADWATER_FAIL_ON_DATA_LOSS: {{ $consumer.failOnDataLoss | quote }}
HEADWATER_TOPIC_WAS_RECREATED: {{ $consumer.topicWasRecreated | quote }}
HEADWATER_PROGRESS_TIMEOUT: {{ $consumer.progressTimeout | default 300 | quote }}
HEADWATER_DRAIN_TIMEOUT: {{ $consumer.drainTimeout | default 60 | quote }}
HEADWATER_LOG_FORMAT: {{ $consumer.logFormat | quote }}
HEADWATER_HTTP_HOST: {{ $consumer.httpHost | quote }}
HEADWATER_HTTP_PORT: {{ $consumer.httpPort | int | quote }}
HEADWATER_SPARK_MASTER: {{ include "headwater.sparkMaster" . | quote }}
HEADWATER_SPARK_DRIVER_MEMORY: {{ $consumer.spark.driverMemory | quote }}
HEADWATER_SPARK_JARS: {{ $consumer.spark.jars | quote }}
{{- $conf := include "headwater.sparkConf" . | fromYaml }}
{{- $pairs := list }}
{{- range $name, $value := $conf }}
{{- $pairs = append $pairs (printf "%s=%s" $name $value) }}
{{- end }}
HEADWATER_SPARK_CONF: {{ join "," $pairs | quote }}
{{- end -}}

{{- define "headwater.webSettings" -}}
{{- $web := .Values.web -}}
{{ include "headwater.serverSettings" . }}
HEADWATER_WEB_HOST: {{ $web.host | quote }}
HEADWATER_WEB_PORT: {{ $web.port | int | quote }}
{{- with $web.allowedHosts }}
HEADWATER_WEB_ALLOWED_HOSTS: {{ toJson . | quote }}
{{- end }}
{{- with $web.corsOrigins }}
HEADWATER_WEB_CORS_ORIGINS: {{ toJson . | quote }}
{{- end }}
{{- with $web.operatorUsers }}
HEADWATER_WEB_OPERATOR_USERS: {{ toJson . | quote }}
{{- end }}
HEADWATER_WEB_SESSION_HOURS: {{ $web.sessionHours | quote }}
{{- with $web.trustedHeader }}
HEADWATER_WEB_TRUSTED_HEADER: {{ . | quote }}
{{- end }}
{{- with $web.trustedProxies }}
HEADWATER_WEB_TRUSTED_PROXIES: {{ toJson . | quote }}
{{- end }}
HEADWATER_WEB_STREAMS: {{ $web.streams | int64 | quote }}
HEADWATER_WEB_MAX_BODY: {{ $web.maxBody | int64 | quote }}
HEADWATER_WEB_MAX_BATCH: {{ $web.maxBatch | int64 | quote }}
HEADWATER_WEB_MAX_DEPTH: {{ $web.maxDepth | int64 | quote }}
HEADWATER_WEB_MAX_NODES: {{ $web.maxNodes | int64 | quote }}
{{- if $web.tokens.fileKey }}
HEADWATER_WEB_TOKENS_FILE: /etc/headwater/tokens/tokens
{{- end }}
{{- if ($web.signingKey | default dict).secret }}
HEADWATER_WEB_SIGNING_KEY_FILE: /etc/headwater/signing-key/key
{{- end }}
HEADWATER_WEB_FAILURES_PER_MINUTE: {{ hasKey $web "failuresPerMinute" | ternary $web.failuresPerMinute 20 | int64 | quote }}
HEADWATER_WEB_CYPHER_TIMEOUT: {{ $web.cypherTimeout | quote }}
HEADWATER_WEB_CYPHER_ROWS: {{ $web.cypherRows | int64 | quote }}
HEADWATER_WEB_CYPHER_BYTES: {{ $web.cypherBytes | default 16000000 | int64 | quote }}
HEADWATER_WEB_MCP_CHARACTERS: {{ $web.mcpCharacters | int64 | quote }}
HEADWATER_WEB_RECEIVE_TIMEOUT: {{ $web.receiveTimeout | quote }}
HEADWATER_WEB_INGEST_REQUESTS: {{ $web.ingestRequests | int64 | quote }}
HEADWATER_WEB_INGEST_BYTES: {{ $web.ingestBytes | int64 | quote }}
HEADWATER_WEB_INGEST_IN_FLIGHT: {{ $web.ingestInFlight | int64 | quote }}
HEADWATER_WEB_INGEST_PATIENCE: {{ $web.ingestPatience | quote }}
{{- end -}}

{{- define "headwater.sparkMaster" -}}
{{- ternary (printf "local[%d]" (int .Values.consumer.spark.cores)) "k8s://https://kubernetes.default.svc" (eq .Values.mode "local") -}}
{{- end -}}

{{/* Settings of Spark by name, as a YAML mapping of texts; the user's own win. */}}
{{- define "headwater.sparkConf" -}}
{{- $conf := dict -}}
{{- if eq .Values.mode "kubernetes" -}}
{{- $name := include "headwater.fullname" . -}}
{{- $conf = merge $conf (include "headwater.executorConf" . | fromYaml) (dict
  "spark.kubernetes.namespace" .Release.Namespace
  "spark.kubernetes.container.image" (include "headwater.image" .)
  "spark.kubernetes.container.image.pullPolicy" .Values.image.pullPolicy
  "spark.kubernetes.driver.pod.name" (printf "%s-0" $name)
  "spark.kubernetes.executor.podNamePrefix" (printf "%s-task" $name)
  "spark.kubernetes.executor.podTemplateFile" "/etc/headwater/executor/pod.yaml"
  "spark.driver.host" (printf "%s-0.%s-driver.%s.svc" $name $name .Release.Namespace)
  "spark.driver.bindAddress" "0.0.0.0"
  "spark.driver.port" "7078"
  "spark.driver.blockManager.port" "7079"
) -}}
{{- end -}}
{{- range $name, $value := .Values.consumer.spark.conf -}}
{{- $_ := set $conf $name (toString $value) -}}
{{- end -}}
{{- toYaml $conf -}}
{{- end -}}

{{- define "headwater.executorConf" -}}
{{- $executors := .Values.consumer.executors -}}
spark.executor.instances: {{ $executors.instances | int | quote }}
spark.executor.cores: {{ $executors.cores | int | quote }}
spark.executor.memory: {{ $executors.memory | quote }}
spark.executor.memoryOverhead: {{ $executors.memoryOverhead | quote }}
{{- end -}}

{{/* Environment entries whose values are in Secrets. */}}
{{- define "headwater.secretEnv" -}}
{{- $kafka := .Values.kafka -}}
{{- if hasPrefix "SASL" $kafka.securityProtocol }}
- name: HEADWATER_KAFKA_SASL_USERNAME
  valueFrom: {secretKeyRef: {name: {{ $kafka.sasl.secret | quote }}, key: {{ $kafka.sasl.usernameKey | quote }}}}
- name: HEADWATER_KAFKA_SASL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $kafka.sasl.secret | quote }}, key: {{ $kafka.sasl.passwordKey | quote }}}}
{{- end }}
{{- with .Values.schemaRegistry }}
{{- if .secret }}
- name: HEADWATER_SCHEMA_REGISTRY_USER
  valueFrom: {secretKeyRef: {name: {{ .secret | quote }}, key: {{ .usernameKey | quote }}}}
- name: HEADWATER_SCHEMA_REGISTRY_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .secret | quote }}, key: {{ .passwordKey | quote }}}}
{{- end }}
{{- end }}
{{- if .Values.neo4j.secret }}
- name: HEADWATER_NEO4J_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .Values.neo4j.secret | quote }}, key: {{ .Values.neo4j.passwordKey | quote }}}}
{{- end }}
{{- end -}}

{{/* The same settings written into a container, for Jobs that run before any ConfigMap is there. */}}
{{- define "headwater.inlineEnv" -}}
{{- range $name, $value := include "headwater.serverSettings" . | fromYaml }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- include "headwater.secretEnv" . }}
{{- end -}}

{{/* Values of a release from before there was a registry have none of this. */}}
{{- define "headwater.hasRegistryCA" -}}
{{- $ca := (.Values.schemaRegistry | default dict).ca | default dict -}}
{{- if or $ca.secret $ca.configMap -}}yes{{- end -}}
{{- end -}}

{{/* Values of an older release have none of this either. */}}
{{- define "headwater.hasNeo4jCA" -}}
{{- $ca := .Values.neo4j.ca | default dict -}}
{{- if or $ca.secret $ca.configMap -}}yes{{- end -}}
{{- end -}}

{{- define "headwater.keystore" -}}
{{- ternary "/etc/headwater/kafka-client/keystore.pem" "/run/headwater/keystore.pem" (not (empty .Values.kafka.tls.client.key)) -}}
{{- end -}}
