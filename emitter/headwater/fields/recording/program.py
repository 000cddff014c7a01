"""Resolve the operations that a program records for a destination (docs/fields.md).

1. An input without a source is the latest earlier output of that path.
2. A record contains its fields. An input ``address`` depends on the last output of it and on later outputs of its
   fields; an input ``address.zip`` depends on the last output of it or of a record that contains it.
3. Without a schema, every last output is a field of the destination unless it was dropped later. With a schema, the
   destination has those fields of the schema that some operation outputs.
4. With ``implicit_identity``, a schema field that no operation outputs comes from the source fields of its name that no
   operation drops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from ..model.field_operations import DatasetRef, Destination, FieldOperation, Input, Source, distinct
from ..model.paths import FieldPath
from ..model.problems import InvalidLineage, Problem
from ..model.wired import TRANSFORM, InputField, Operation, passed_on
from ..resolution.lineage import FieldLineage
from ..resolution.resolve import resolve_operations


def resolve(
    operations: Iterable[FieldOperation],
    destination: Destination,
    *,
    sources: Iterable[Source] = (),
    implicit_identity: bool = False,
    strict: bool = False,
) -> FieldLineage:
    """Return the lineage of a program's operations for their destination.

    ``sources`` adds sources that no input refers to. In strict mode, raises InvalidLineage (``unknown_input``) with all
    inputs that have no source and that no earlier operation outputs.
    """
    wiring = _Wiring(sources)
    for operation in operations:
        wiring.add(operation)
    written = wiring.written(destination, implicit_identity)
    if strict and wiring.problems:
        raise InvalidLineage(wiring.problems)
    write = replace(Operation.write(f"write {destination.name}", destination, written), id="write")
    lineage = resolve_operations(
        (*wiring.reads(), *wiring.transforms, write),
        strict=False,
        sources=wiring.sources,
        destinations={destination.ref: destination},
    )
    return replace(lineage, problems=tuple(wiring.problems))


class _Wiring:
    """Assigns each input its origin, operation by operation; ids are generated, because names can repeat."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.transforms: list[Operation] = []
        self.problems: list[Problem] = []
        self.sources: dict[DatasetRef, Source] = {}
        self._taken: dict[DatasetRef, dict[str, None]] = {}
        # The number of the last operation that dropped a field of a source or (None) an output of an operation.
        self._dropped: dict[tuple[DatasetRef | None, FieldPath], int] = {}
        # For each path the last operation that output it, and for each record all paths in it that were ever output.
        self._last_output: dict[FieldPath, int] = {}
        self._fields_in: dict[FieldPath, dict[FieldPath, None]] = {}
        for source in sources:
            self._add_source(source)

    def add(self, operation: FieldOperation) -> None:
        number = len(self.transforms)
        links = {item: tuple(self._links(item, operation.name)) for item in operation.inputs}
        wired = Operation(
            type=TRANSFORM,
            name=operation.name,
            id=_transform_id(number),
            inputs=distinct(link for found in links.values() for link in found),
            outputs=tuple(str(output.field) for output in operation.outputs),
            direct={
                output: tuple(link for item in items for link in links[item])
                for output, items in operation.direct_inputs().items()
            },
            **passed_on(operation),
        )
        self.transforms.append(wired)
        if wired.drops:
            for item in operation.inputs:
                self._dropped[None if item.source is None else item.source.ref, item.field] = number
        for output in operation.outputs:
            self._last_output[output.field] = number
            for record in output.field.ancestors:
                self._fields_in.setdefault(record, {})[output.field] = None

    def reads(self) -> Iterator[Operation]:
        """Yield one read for each source, of the fields that are inputs."""
        for ref, source in self.sources.items():
            yield replace(Operation.read(f"read {source.name}", source, self._taken[ref]), id=_read_id(ref))

    def written(self, destination: Destination, implicit_identity: bool) -> list[InputField]:
        """Return the inputs of the destination's write: the fields of its schema, or every last output."""
        if destination.schema is None:
            remaining = [path for path, number in self._last_output.items() if self._drop_of(None, path) < number]
            return [link for path in remaining for link in self._origins(path)]
        links = []
        for path in destination.schema.leaves():
            origins = self._origins(path)
            if not origins and implicit_identity:
                origins = self._identity(path)
            links.extend(origins)
        return links

    def _add_source(self, source: Source) -> None:
        known = self.sources.get(source.ref)
        self.sources[source.ref] = source if known is None or known.schema is None else known
        self._taken.setdefault(source.ref, {})

    def _links(self, item: Input, operation: str) -> list[InputField]:
        if item.source is not None:
            self._add_source(item.source)
            return [self._take(item.source.ref, str(item.field))]
        links = self._origins(item.field)
        if not links:
            self.problems.append(Problem("unknown_input", str(item.field), operation=operation, field=str(item.field)))
            return [InputField(None, str(item.field))]
        return links

    def _take(self, source: DatasetRef, field: str) -> InputField:
        self._taken[source][field] = None
        return InputField(_read_id(source), field)

    def _origins(self, path: FieldPath) -> list[InputField]:
        """Return the origins of a path: its last output, or that of a record around it, and later ones of its fields."""
        whole = max(self._last_output.get(item, -1) for item in (path, *path.ancestors))
        parts = {self._last_output[item] for item in self._fields_in.get(path, ()) if self._last_output[item] > whole}
        numbers = sorted(parts if whole < 0 else parts | {whole})
        return [InputField(_transform_id(number), str(path)) for number in numbers]

    def _drop_of(self, source: DatasetRef | None, path: FieldPath) -> int:
        """Return the number of the last operation that dropped the field or a record around it, -1 if there is none."""
        return max(self._dropped.get((source, item), -1) for item in (path, *path.ancestors))

    def _identity(self, path: FieldPath) -> list[InputField]:
        """Return the source fields of that name: of sources with it in their schema, or of an only source without schema."""
        only = len(self.sources) == 1
        refs = [ref for ref, paths in self._source_paths.items() if (only if paths is None else path in paths)]
        return [self._take(ref, str(path)) for ref in refs if self._drop_of(ref, path) < 0]

    @cached_property
    def _source_paths(self) -> Mapping[DatasetRef, frozenset[FieldPath] | None]:
        """The fields of each source by its schema, None if it has none; used only after all sources have been added."""
        return {
            ref: None if source.schema is None else frozenset(source.schema.paths())
            for ref, source in self.sources.items()
        }


def _read_id(source: DatasetRef) -> str:
    return f"read {source}"


def _transform_id(number: int) -> str:
    return f"#{number}"
