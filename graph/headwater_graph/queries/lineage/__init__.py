"""Lineage queries: traversals over datasets and jobs, columns, paths and impact."""
