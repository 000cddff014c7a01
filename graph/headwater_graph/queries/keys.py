"""The keys of nodes, as the writer stores them."""

from __future__ import annotations

from collections.abc import Iterator

from headwater_avro.names import MAX_KEY_LENGTH, Key, node_key


def dataset_node_key(namespace: str, name: str) -> str:
    """Return the ``key`` of a Dataset node."""
    return node_key("dataset", namespace, name)


def job_node_key(namespace: str, name: str) -> str:
    """Return the ``key`` of a Job node."""
    return node_key("job", namespace, name)


def field_node_key(namespace: str, dataset: str, name: str) -> str:
    """Return the ``key`` of a Field node; the name ``*`` stands for the whole dataset."""
    return node_key("field", namespace, dataset, name)


def run_node_key(run_id: str) -> str:
    """Return the ``key`` of a Run node."""
    return node_key("run", run_id)


def names_in(text: str, separator: str) -> Iterator[Key]:
    """Yield each (namespace, name) that a text can mean, since both may hold the separator (one character) themselves.

    There are no more than a name has characters: what is longer than specification 1.2 allows names nothing.
    """
    shortest = max(1, len(text) - 1 - MAX_KEY_LENGTH)
    longest = min(MAX_KEY_LENGTH, len(text) - 2)
    cut = text.find(separator, shortest, longest + 1)
    while cut >= 0:
        yield text[:cut], text[cut + 1 :]
        cut = text.find(separator, cut + 1, longest + 1)
