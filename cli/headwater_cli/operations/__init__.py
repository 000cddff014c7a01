"""Commands that operate the consumer, the graph, archives and the HTTP server."""
