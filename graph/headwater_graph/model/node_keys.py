"""The store's keys of what has a name: hashes, since a name may be longer than an index takes."""

from __future__ import annotations

from functools import lru_cache

from headwater_avro.names import Key, key_hash

_REMEMBERED = 32_768
"""Hashes kept: jobs and datasets are named by one run after another."""


@lru_cache(_REMEMBERED)
def job_hash(key: Key) -> str:
    """Return the store's key of a job."""
    return key_hash("job", *key)


@lru_cache(_REMEMBERED)
def dataset_hash(key: Key) -> str:
    """Return the store's key of a dataset."""
    return key_hash("dataset", *key)


def run_hash(run_id: str) -> str:
    """Return the store's key of a run."""
    return key_hash("run", run_id)
