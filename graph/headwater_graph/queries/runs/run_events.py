"""All that a run's events told, facets included, as a value; the rules that read it from a record are the consumer's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater_avro.names import Key

Told: TypeAlias = Mapping[str, Any]
"""Facet name -> facet, as JSON values."""


@dataclass(frozen=True, slots=True)
class RunView:
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


EMPTY_RUN_VIEW = RunView()

OpenRecord: TypeAlias = Callable[[bytes | None], RunView]
"""Opens the packed record of a run; a run without one (a placeholder) tells nothing."""


def _side(side: Mapping[Key, tuple[Told, Told]], own_name: str) -> list[dict[str, Any]]:
    told = [{"dataset": list(key), "facets": dict(facets), own_name: dict(own)} for key, (facets, own) in side.items()]
    return [{name: value for name, value in each.items() if value} for each in told if each["facets"] or each[own_name]]
