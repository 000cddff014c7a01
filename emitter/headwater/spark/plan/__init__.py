"""Query plans as values, and the column lineage that follows from them."""
