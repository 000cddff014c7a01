"""Queries about runs and versions: details, history, differences, the graph of one run."""
