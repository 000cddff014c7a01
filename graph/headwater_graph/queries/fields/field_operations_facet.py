"""The facet ``headwater_fieldOperations``: a set of operations on fields, and which of them made a field (seed 002).

Its schema is ``urn:headwater:facets:1-0-0:FieldOperationsDatasetFacet``. An operation is a hyper-edge: all its inputs feed
all its outputs. What a filter, a join or a sort has to do with a field is that it influences the dataset as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from headwater_avro.names import Key

FACET: Final = "headwater_fieldOperations"
NAMESPACE: Final = "urn:headwater:field-operations"
"""Where sets of operations are told, each as the facet of a dataset whose name is its fingerprint."""

INFLUENCES = frozenset(("join", "filter", "group", "sort", "window", "condition"))
"""The kinds of operations that influence every field of what they reach."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class End(Struct, frozen=True):
    """A dataset that is read or written."""

    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)


class Link(Struct, frozen=True):
    """An input: a field as the operation ``origin`` (its id) made it; without origin nobody made it."""

    field: str
    origin: str | None = None

    @property
    def name(self) -> str:
        """The field as column lineage names it: without the escapes of a path."""
        return column_name(self.field)


class FieldOperation(Struct, frozen=True, omit_defaults=True):
    """One operation: a ``read``, ``transform`` or ``write``. ``reaches`` are the datasets it can influence, None: all."""

    id: str
    type: str
    name: str
    description: str | None = None
    kind: str | None = None
    masking: bool = False
    dataset: End | None = None
    inputs: tuple[Link, ...] = ()
    outputs: tuple[str, ...] = ()
    reaches: tuple[End, ...] | None = None

    def writes(self, dataset: Key) -> bool:
        """Tell whether it puts fields into the dataset."""
        return self.type == "write" and self.dataset is not None and self.dataset.key == dataset

    def influences(self, dataset: Key) -> bool:
        """Tell whether it influences the dataset as a whole."""
        return self.kind in INFLUENCES and (self.reaches is None or dataset in {end.key for end in self.reaches})


class FieldOperations(Struct, frozen=True):
    """A set of operations in topological order; ``cut`` says what is left out of it."""

    fingerprint: str
    operations: tuple[FieldOperation, ...] = ()
    cut: str | None = None

    def columns(self, dataset: Key) -> frozenset[str]:
        """Return the columns of a dataset that the operations write."""
        return frozenset(link.name for one in self.operations if one.writes(dataset) for link in one.inputs)


class Made(Struct, frozen=True):
    """The operations that made some columns, in their order, and the source columns that they took, by dataset."""

    operations: tuple[FieldOperation, ...] = ()
    sources: Mapping[Key, frozenset[str]] = field(default_factory=dict)


def operations_in(facets: Mapping[str, Any]) -> FieldOperations | None:
    """Return the operations that a dataset's facets tell; None where they tell none, or none that can be read."""
    try:
        return msgspec.convert(facets.get(FACET), FieldOperations)
    except msgspec.ValidationError:
        return None


def made_by(told: FieldOperations, dataset: Key, columns: frozenset[str]) -> Made:
    """Return what made these columns of a dataset: their writes, all that led to them, and what influenced them.

    Nothing where none of the columns is written. A set whose inputs were cut is returned whole.
    """
    if told.cut:
        return Made(told.operations)
    writes = {
        one.id: replaced(one, [link for link in one.inputs if link.name in columns])
        for one in told.operations
        if one.writes(dataset)
    }
    writes = {name: one for name, one in writes.items() if one.inputs}
    if not writes:
        return Made()
    chosen = writes | {one.id: one for one in told.operations if one.influences(dataset)}
    taken = _origins(told, chosen)
    chosen |= {one.id: one for one in told.operations if one.id in taken and one.type == "transform"}
    reads = {
        one.id: msgspec.structs.replace(one, outputs=tuple(sorted(taken[one.id])))
        for one in told.operations
        if one.id in taken and one.type == "read"
    }
    chosen |= reads
    return Made(tuple(chosen[one.id] for one in told.operations if one.id in chosen), _sources(reads.values()))


def replaced(operation: FieldOperation, inputs: Iterable[Link]) -> FieldOperation:
    """Return the operation with these inputs only."""
    return msgspec.structs.replace(operation, inputs=tuple(inputs))


def _origins(told: FieldOperations, start: Mapping[str, FieldOperation]) -> dict[str, set[str]]:
    """Of each operation that leads to the start, which of its fields are taken; through all inputs of a transform."""
    by_id = {one.id: one for one in told.operations}
    taken: dict[str, set[str]] = {}
    waiting = list(start.values())
    while waiting:
        for link in waiting.pop().inputs:
            origin = by_id.get(link.origin or "")
            if origin is None or origin.type == "write":
                continue
            if origin.id not in taken and origin.id not in start:
                waiting.append(origin)
            taken.setdefault(origin.id, set()).add(link.field)
    return taken


def _sources(reads: Iterable[FieldOperation]) -> dict[Key, frozenset[str]]:
    sources: dict[Key, frozenset[str]] = {}
    for read in reads:
        if read.dataset is not None:
            names = frozenset(map(column_name, read.outputs))
            sources[read.dataset.key] = sources.get(read.dataset.key, frozenset()) | names
    return sources


def column_name(path: str) -> str:
    r"""Return a field's path as column lineage names it.

    >>> column_name(r"v1\.2")
    'v1.2'
    """
    return _ESCAPED.sub(r"\1", path)
