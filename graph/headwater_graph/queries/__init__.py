"""Every question about the graph: values in, values out; the Cypher texts are in ``cypher/``."""
