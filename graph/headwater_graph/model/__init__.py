"""The values that the graph is made of: records, moments, versions, and the keys of nodes."""
