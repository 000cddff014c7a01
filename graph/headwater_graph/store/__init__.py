"""The graph store: its port, the implementation on Neo4j, the schema and its migrations."""
