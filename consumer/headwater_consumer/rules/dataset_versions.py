"""SPEC 5.2 and 5.3: which version of a dataset a run reads.

5.2  Of the dataset's versions not made by this run, the one with the greatest moment that is less than the run's own;
     if there is none, the initial version.
5.3  If the input carries an external version: the version not made by this run that carries the same; among several the
     one with the greatest moment less than the run's, else the greatest; if there is none, an external version.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater_avro.names import Key, external_version_id, initial_version_id
from headwater_graph.values import Made, Moment


def latest_before(moment: Moment, run_id: str, made: Iterable[Made]) -> Made | None:
    """Return the version with the greatest moment less than a run's, not made by it (SPEC 5.2)."""
    return max(
        (one for one in made if one.moment < moment and one.made_by != run_id), key=lambda one: one.moment, default=None
    )


def exact(moment: Moment, run_id: str, made: Iterable[Made]) -> Made | None:
    """Return the version that a run read of those that carry the external version it names (SPEC 5.3)."""
    others = [one for one in made if one.made_by != run_id]
    return latest_before(moment, run_id, others) or max(others, key=lambda one: one.moment, default=None)


def unmade_id(dataset: Key, external: str | None) -> str:
    """Return the id of the version that a run read where nothing in the graph made one."""
    return initial_version_id(dataset) if external is None else external_version_id(dataset, external)
