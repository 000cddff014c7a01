"""Consume OpenLineage events from Kafka with Spark and write the lineage graph to Neo4j."""
