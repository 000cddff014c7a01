"""Commands that query the graph."""
