"""From wired operations to field lineage, column lineage and inherited metadata."""
