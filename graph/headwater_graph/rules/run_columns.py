"""Specification 5.6: the column edges that one run states for each of its outputs."""

from __future__ import annotations

from headwater_avro.names import Key
from headwater_graph.rules.columns import Edges, facet_edges
from headwater_graph.rules.explicit_lineage import entries_by_output, entry_edges
from headwater_graph.rules.runs import RunReading


def run_columns(reading: RunReading) -> dict[Key, Edges]:
    """Return the column edges of a run by output: from its explicit entries if these give any, else from the facet."""
    entries = entries_by_output(reading.entries)
    found = {key: entry_edges(entries.get(key, ())) or facet_edges(reading.columns.get(key)) for key in reading.outputs}
    return {key: edges for key, edges in found.items() if edges}
