"""The one place that opens the packed record of a run: all that its events told, facets included (SPEC 2.3, 2.4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater_avro.names import Key

from ..records import Facets, Listing, RunRecord, unpack

Told: TypeAlias = Mapping[str, Any]
"""Facet name -> facet, as JSON values."""


@dataclass(frozen=True, slots=True)
class RunTold:
    """What a run's events told: facets of the run, of its job, and per input and output (dataset facets, then its own)."""

    run: Told = field(default_factory=dict)
    job: Told = field(default_factory=dict)
    inputs: Mapping[Key, tuple[Told, Told]] = field(default_factory=dict)
    outputs: Mapping[Key, tuple[Told, Told]] = field(default_factory=dict)

    def value(self) -> dict[str, Any]:
        """Return it as JSON values; containers without facets are left out."""
        sides = {"inputs": _side(self.inputs, "inputFacets"), "outputs": _side(self.outputs, "outputFacets")}
        told = {"run": dict(self.run), "job": dict(self.job), **sides}
        return {name: facets for name, facets in told.items() if facets}


NOTHING_TOLD = RunTold()


def run_told(record: bytes | None) -> RunTold:
    """Open the record of a run; a run without one (a placeholder) tells nothing.

    Raises ValueError for a record that a newer headwater wrote.
    """
    if record is None:
        return NOTHING_TOLD
    opened = unpack(record, RunRecord)
    return RunTold(
        run=_told(opened.facets),
        job=_without_deleted(_told(_joined(naming.facets for naming in opened.jobs.values()))),
        inputs=_listings(opened.inputs),
        outputs=_listings(opened.outputs),
    )


def _listings(side: Mapping[Key, Listing]) -> dict[Key, tuple[Told, Told]]:
    return {key: (_without_deleted(_told(one.facets)), _told(one.own)) for key, one in sorted(side.items())}


def _told(facets: Facets) -> dict[str, Any]:
    return {name: json.loads(text) for name, (_, _, text) in sorted(facets.items())}


def _joined(containers: Iterable[Facets]) -> Facets:
    """Of each facet the greatest instance: a run's job facets are joined whatever job its events name (SPEC 2.3)."""
    joined: Facets = {}
    for facets in containers:
        for name, instance in facets.items():
            joined[name] = max(joined.get(name, instance), instance)
    return joined


def _without_deleted(facets: Told) -> dict[str, Any]:
    return {
        name: facet for name, facet in facets.items() if not (isinstance(facet, dict) and facet.get("_deleted") is True)
    }


def _side(side: Mapping[Key, tuple[Told, Told]], own_name: str) -> list[dict[str, Any]]:
    told = [{"dataset": list(key), "facets": dict(facets), own_name: dict(own)} for key, (facets, own) in side.items()]
    return [{name: value for name, value in each.items() if value} for each in told if each["facets"] or each[own_name]]
