"""Kafka for the consumer: topics, messages by position, dead letters and their redrive."""
