"""Every question that one can ask the graph: values in, values out; the Cypher of each stands in ``cypher/*.cypher``."""
