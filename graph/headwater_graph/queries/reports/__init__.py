"""Reports: what is missing, silent, stale or in conflict."""
