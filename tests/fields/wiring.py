"""Short forms for wired operations and lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.fields import DatasetField, DatasetRef, Operation


def dataset(text: str) -> DatasetRef:
    namespace, separator, name = text.rpartition(":")
    return DatasetRef(namespace if separator else None, name)


def field(text: str) -> DatasetField:
    where, _, name = text.partition("#")
    return DatasetField(dataset(where), name)


def links(text: str) -> list[tuple[str | None, str]]:
    """Return the inputs of ``"r.a t.b"``: the field a of the operation r and the field b of t."""
    pairs = [item.split(".", 1) for item in text.split()]
    return [(origin, name) for origin, name in pairs]


def read(name: str, source: str, outputs: str) -> Operation:
    return Operation.read(name, dataset(source), outputs.split())


def transform(name: str, inputs: str, outputs: str) -> Operation:
    return Operation.transform(name, links(inputs), outputs.split())


def write(name: str, destination: str, inputs: str) -> Operation:
    return Operation.write(name, dataset(destination), links(inputs))


def texts(summary: Mapping[DatasetField, Iterable[DatasetField]]) -> dict[str, list[str]]:
    return {str(item): sorted(map(str, others)) for item, others in summary.items()}


def names(operations: Iterable[Operation]) -> list[str]:
    return [operation.name for operation in operations]
