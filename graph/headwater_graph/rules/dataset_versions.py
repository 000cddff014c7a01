"""Specification 5: what a dataset version carries, and the id of a version that nothing in the graph wrote.

5.2  Of the dataset's versions not made by this run, it reads the one with the greatest moment that is less than the
     run's own; if there is none, the initial version.
5.3  If the input carries an external version, it reads the version not made by this run that carries the same text;
     among several the one with the greatest moment less than the run's, else the greatest; if there is none, an external
     version.

The choice among versions with a moment is made by bounded reads of the store, ``made_before`` and ``exact_before`` of
its port.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater_avro.names import Key, external_version_id, initial_version_id
from headwater_graph.model.records import Facets
from headwater_graph.rules import facets as read


@dataclass(frozen=True, slots=True)
class VersionContent:
    """What the version that a run or DatasetEvent makes carries (specification 5.1, 5.4).

    ``time`` is that of its moment, ``schema`` canonical JSON, ``drops`` whether its own record states DROP (7.1).
    """

    time: int
    external: str | None
    schema: str | None
    drops: bool


def version_content(time: int, facets: Facets) -> VersionContent:
    """Return what a version carries whose dataset facets are these."""
    return VersionContent(
        time,
        external=read.external_version(read.living(facets, "version")),
        schema=read.schema_of(read.living(facets, "schema")),
        drops=read.says_drop(facets),
    )


def unwritten_version_id(dataset: Key, external: str | None) -> str:
    """Return the id of the external version of that name, or of the initial version for None (specification 5.2, 5.3)."""
    return initial_version_id(dataset) if external is None else external_version_id(dataset, external)
