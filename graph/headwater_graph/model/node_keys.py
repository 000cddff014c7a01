"""The unique property ``key`` of nodes: a digest, because a name may be longer than an index entry may be."""

from __future__ import annotations

from functools import lru_cache

from headwater_avro.names import Key, key_hash

_CACHED = 32_768
"""Digests that are cached: run after run names the same jobs and datasets."""


@lru_cache(_CACHED)
def job_hash(key: Key) -> str:
    """Return the node key of a job."""
    return key_hash("job", *key)


@lru_cache(_CACHED)
def dataset_hash(key: Key) -> str:
    """Return the node key of a dataset."""
    return key_hash("dataset", *key)


def run_hash(run_id: str) -> str:
    """Return the node key of a run."""
    return key_hash("run", run_id)


def event_hash(text: str) -> str:
    """Return the node key of a JobEvent, given its canonical JSON."""
    return key_hash.__wrapped__("event", text)  # Not cached: an event can be large, and each has a key of its own.
