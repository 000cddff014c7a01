"""The consumer's shell: the partition kernel, the batch cycle, the stream over real Kafka, settings, health."""
