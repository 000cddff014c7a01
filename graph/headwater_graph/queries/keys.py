"""The keys of nodes, as the writer stores them."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_avro.names import key_hash


def dataset_key(namespace: str, name: str) -> str:
    """Return the ``key`` of a Dataset node."""
    return key_hash("dataset", namespace, name)


def job_key(namespace: str, name: str) -> str:
    """Return the ``key`` of a Job node."""
    return key_hash("job", namespace, name)


def field_key(namespace: str, dataset: str, name: str) -> str:
    """Return the ``key`` of a Field node; the name ``*`` stands for the whole dataset."""
    return key_hash("field", namespace, dataset, name)


def run_key(run_id: str) -> str:
    """Return the ``key`` of a Run node."""
    return key_hash("run", run_id)


def run_keys(run_ids: Iterable[str]) -> list[str]:
    """Return the ``key`` of each Run node, sorted."""
    return sorted({run_key(run_id) for run_id in run_ids})
