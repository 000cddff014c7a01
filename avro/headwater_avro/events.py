"""The event model: the parts of an OpenLineage event that the rules read (specification 1).

Facets stay JSON texts (bytes), unchanged; identities are typed and validated.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from .names import Key

OTHER, START, RUNNING, COMPLETE, ABORT, FAIL = range(6)
"""Type ranks of specification 2.1: OTHER < START < RUNNING < COMPLETE < ABORT < FAIL."""

RANK = {"OTHER": OTHER, "START": START, "RUNNING": RUNNING, "COMPLETE": COMPLETE, "ABORT": ABORT, "FAIL": FAIL}
TYPE_NAME = tuple(RANK)

FacetTexts: TypeAlias = dict[str, bytes]
"""Facet name -> the facet's JSON text; a facet that is null is absent (specification 1.1)."""


class ListedDataset(Struct, frozen=True):
    """An input or output dataset of an event; ``own`` contains its inputFacets or outputFacets."""

    key: Key
    facets: FacetTexts
    own: FacetTexts


Side: TypeAlias = tuple[ListedDataset, ...]
"""The inputs or the outputs of an event, each dataset once."""


class RunEvent(Struct, frozen=True):
    """A run event; ``time`` is in microseconds since 1970-01-01 UTC, ``rank`` the type rank of specification 2.1."""

    time: int
    rank: int
    run_id: str
    job: Key
    run_facets: FacetTexts
    job_facets: FacetTexts
    inputs: Side
    outputs: Side


class JobEvent(Struct, frozen=True):
    """A design-time event of a job; ``text`` is the canonical JSON of the whole event (specification 4.4)."""

    time: int
    job: Key
    job_facets: FacetTexts
    inputs: Side
    outputs: Side
    text: str


class DatasetEvent(Struct, frozen=True):
    """A design-time event of a dataset; ``text`` is the canonical JSON of the whole event (specification 5.4)."""

    time: int
    dataset: Key
    facets: FacetTexts
    text: str


Event: TypeAlias = RunEvent | JobEvent | DatasetEvent
