"""The facet ``headwater_fieldOperations``: a set of operations on fields, and which of them made a field (docs/fields.md).

Its schema is ``urn:headwater:facets:1-0-0:FieldOperationsDatasetFacet``. An operation is a hyper-edge: all its inputs feed
all its outputs. A filter, a join or a sort influences a dataset as a whole.
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
"""The namespace of the datasets that carry sets of operations as a facet; the name of each is the fingerprint of its set."""

INFLUENCES = frozenset(("join", "filter", "group", "sort", "window", "condition"))
"""The kinds of operations that influence every field of the datasets that they reach."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class DatasetName(Struct, frozen=True):
    """A dataset that is read or written."""

    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)


class InputField(Struct, frozen=True):
    """A field as the operation with the id ``origin`` made it; without ``origin`` no operation made it."""

    field: str
    origin: str | None = None

    @property
    def name(self) -> str:
        """The field as column lineage names it, without the escapes of a path."""
        return column_name(self.field)


class FieldOperation(Struct, frozen=True, omit_defaults=True):
    """A ``read``, ``transform`` or ``write``; ``reaches`` are the datasets that it can influence, None for all.

    Of a ``guess`` it is not known which inputs feed which outputs.
    """

    id: str
    type: str
    name: str
    description: str | None = None
    kind: str | None = None
    masking: bool = False
    guess: bool = False
    dataset: DatasetName | None = None
    inputs: tuple[InputField, ...] = ()
    outputs: tuple[str, ...] = ()
    reaches: tuple[DatasetName, ...] | None = None

    def writes(self, dataset: Key) -> bool:
        """Return whether the operation writes fields of the dataset."""
        return self.type == "write" and self.dataset is not None and self.dataset.key == dataset

    def influences(self, dataset: Key) -> bool:
        """Return whether the operation influences the dataset as a whole."""
        return self.kind in INFLUENCES and (
            self.reaches is None or dataset in {reached.key for reached in self.reaches}
        )


class FieldOperations(Struct, frozen=True):
    """A set of operations in topological order; ``truncated`` says what is left out of it."""

    fingerprint: str
    operations: tuple[FieldOperation, ...] = ()
    truncated: str | None = field(default=None, name="cut")

    def columns(self, dataset: Key) -> frozenset[str]:
        """Return the columns of a dataset that the operations write."""
        return frozenset(source.name for write in self.operations if write.writes(dataset) for source in write.inputs)


class Derivation(Struct, frozen=True):
    """The operations that made some columns, in their order, and the source columns that they read, by dataset."""

    operations: tuple[FieldOperation, ...] = ()
    sources: Mapping[Key, frozenset[str]] = field(default_factory=dict)


def operations_in(facets: Mapping[str, Any]) -> FieldOperations | None:
    """Return the operations in the facets of a dataset; None if there are none, or none that are valid."""
    try:
        return msgspec.convert(facets.get(FACET), FieldOperations)
    except msgspec.ValidationError:
        return None


def derivation_of(operations: FieldOperations, dataset: Key, columns: frozenset[str]) -> Derivation:
    """Return what made these columns of a dataset: their writes, all that led to them, and what influenced them.

    Nothing if none of the columns is written. A truncated set is returned whole.
    """
    if operations.truncated:
        return Derivation(operations.operations)
    by_id = {operation.id: operation for operation in operations.operations}
    writes = {
        name: with_inputs(operation, inputs)
        for name, operation in by_id.items()
        if operation.writes(dataset) and (inputs := [item for item in operation.inputs if item.name in columns])
    }
    if not writes:
        return Derivation()
    chosen = writes | {name: operation for name, operation in by_id.items() if operation.influences(dataset)}
    fields = _origins(by_id, chosen)
    chosen |= {name: by_id[name] for name in fields if by_id[name].type == "transform"}
    reads = {
        name: msgspec.structs.replace(by_id[name], outputs=tuple(sorted(names)))
        for name, names in fields.items()
        if by_id[name].type == "read"
    }
    chosen |= reads
    return Derivation(tuple(chosen[name] for name in by_id if name in chosen), _sources(reads.values()))


def with_inputs(operation: FieldOperation, inputs: Iterable[InputField]) -> FieldOperation:
    """Return the operation with these inputs only."""
    return msgspec.structs.replace(operation, inputs=tuple(inputs))


def _origins(by_id: Mapping[str, FieldOperation], start: Mapping[str, FieldOperation]) -> dict[str, set[str]]:
    """Return which fields of each operation lead to the start; all inputs of a transform do."""
    fields: dict[str, set[str]] = {}
    waiting = list(start.values())
    while waiting:
        for source in waiting.pop().inputs:
            origin = by_id.get(source.origin or "")
            if origin is None or origin.type == "write":
                continue
            if origin.id not in fields and origin.id not in start:
                waiting.append(origin)
            fields.setdefault(origin.id, set()).add(source.field)
    return fields


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
