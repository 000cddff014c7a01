"""The lineage graph in Neo4j: a write is a plan (a value) first; the store only carries it out, and answers bounded reads."""
