"""The unique property ``key`` of nodes: a digest, because a name may be longer than an index entry may be."""

from __future__ import annotations

from functools import lru_cache

from headwater_avro.names import Key, node_key

_CACHED = 32_768
"""Digests that are cached: run after run names the same jobs and datasets."""


@lru_cache(_CACHED)
def job_node_key(key: Key) -> str:
    """Return the node key of a job."""
    return node_key("job", *key)


@lru_cache(_CACHED)
def dataset_node_key(key: Key) -> str:
    """Return the node key of a dataset."""
    return node_key("dataset", *key)


def run_node_key(run_id: str) -> str:
    """Return the node key of a run."""
    return node_key("run", run_id)


def event_node_key(text: str) -> str:
    """Return the node key of a JobEvent, given its canonical JSON."""
    return node_key("event", text)
