"""Specification 5.2 and 5.3: which version of a dataset a run reads.

5.2  Of the dataset's versions not made by this run, the one with the greatest moment that is less than the run's own;
     if there is none, the initial version.
5.3  If the input carries an external version: the version not made by this run that carries the same; among several the
     one with the greatest moment less than the run's, else the greatest; if there is none, an external version.

The choice among versions with a moment is the store's bounded reads, ``made_before`` and ``exact_before`` of its port; what
is read where none of them fits is said here.
"""

from __future__ import annotations

from headwater_avro.names import Key, external_version_id, initial_version_id


def unmade_id(dataset: Key, external: str | None) -> str:
    """Return the id of the version that a run read where nothing in the graph made one."""
    return initial_version_id(dataset) if external is None else external_version_id(dataset, external)
