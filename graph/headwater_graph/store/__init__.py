"""The graph store: its port, Neo4j behind it, the schema and its migrations."""
