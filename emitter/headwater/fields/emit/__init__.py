"""From field lineage to OpenLineage facets in the events of a run."""
