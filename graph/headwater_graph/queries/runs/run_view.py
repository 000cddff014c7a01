"""The facets that the events of one run state, read from its record by the rules from which the graph itself is derived."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater_avro.names import Key
from headwater_graph.model.records import Facets, Listing, RunRecord, unpack
from headwater_graph.rules.facets import is_snapshot, living, without_deleted
from headwater_graph.rules.runs import run_job_facets, sides

FacetValues: TypeAlias = Mapping[str, Any]
"""Facet name -> facet, as JSON values."""

SideFacets: TypeAlias = Mapping[Key, tuple[FacetValues, FacetValues]]
"""Dataset -> the facets of the dataset, and those of the input or output."""


@dataclass(frozen=True, slots=True)
class RunView:
    """Facets of a run, of its job, and of each of its inputs and outputs."""

    run: FacetValues = field(default_factory=dict)
    job: FacetValues = field(default_factory=dict)
    inputs: SideFacets = field(default_factory=dict)
    outputs: SideFacets = field(default_factory=dict)

    def value(self) -> dict[str, Any]:
        """Return the facets as JSON values; containers without facets are left out."""
        values = {
            "run": dict(self.run),
            "job": dict(self.job),
            "inputs": _side_value(self.inputs, "inputFacets"),
            "outputs": _side_value(self.outputs, "outputFacets"),
        }
        return {name: facets for name, facets in values.items() if facets}


EMPTY_RUN_VIEW = RunView()


def run_view(record: bytes | None) -> RunView:
    """Return the facets in the packed record of a run as they count (specification 2.3 to 2.7); without a record, none.

    Raises ValueError for a record that a newer headwater wrote.
    """
    if record is None:
        return EMPTY_RUN_VIEW
    opened = unpack(record, RunRecord)
    job_facets = run_job_facets(opened)
    inputs, outputs = sides(opened, is_snapshot(living(job_facets, "jobType")))
    return RunView(
        run=_values(opened.facets),
        job=_values(without_deleted(job_facets)),
        inputs=_side_facets(inputs),
        outputs=_side_facets(outputs),
    )


def _side_facets(side: Mapping[Key, Listing]) -> SideFacets:
    return {
        key: (_values(without_deleted(listing.facets)), _values(listing.own)) for key, listing in sorted(side.items())
    }


def _values(facets: Facets) -> dict[str, Any]:
    return {name: json.loads(text) for name, (_, _, text) in sorted(facets.items())}


def _side_value(side: SideFacets, own_name: str) -> list[dict[str, Any]]:
    return [
        {"dataset": list(key), **({"facets": dict(facets)} if facets else {}), **({own_name: dict(own)} if own else {})}
        for key, (facets, own) in side.items()
        if facets or own
    ]
