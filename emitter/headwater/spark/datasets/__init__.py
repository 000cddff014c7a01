"""Datasets: their names, their facets, and which of them a plan node reads or writes."""
