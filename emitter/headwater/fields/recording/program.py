"""The Platform API of seed 002: a program records operations against a destination.

What the seed leaves open is settled so. An input without a source is the latest earlier output of that path. A
record holds its fields: reading ``address`` reads what was last written to it and to any of its fields since,
reading ``address.zip`` reads what was last written to it or to a record around it. Without a schema every last
output is a field of the destination, unless it was dropped since; with one, its fields are, those that some operation
makes. With ``implicit_identity`` a schema field that no operation makes comes from the source fields of its name that
no operation drops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from ..model.field_operations import DatasetRef, Destination, FieldOperation, Input, Source
from ..model.paths import FieldPath
from ..model.problems import InvalidLineage, Problem
from ..model.wired import InputField, Operation
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
    """Resolve a program's operations for its destination; ``sources`` names more sources than the inputs do.

    Raises InvalidLineage in strict mode for inputs that nobody makes (``unknown_input``), all of them.
    """
    wiring = _Wiring(sources)
    for operation in operations:
        wiring.add(operation)
    written = wiring.written(destination, implicit_identity)
    if strict and wiring.problems:
        raise InvalidLineage(wiring.problems)
    wired = (
        *wiring.reads(),
        *wiring.transforms,
        replace(Operation.write(f"write {destination.name}", destination, written), id=_WRITE),
    )
    lineage = resolve_operations(
        wired,
        strict=False,
        sources={source.ref: source for source in wiring.sources},
        destinations={destination.ref: destination},
    )
    return replace(lineage, problems=tuple(wiring.problems))


_WRITE = "write"


class _Wiring:
    """Gives each input its origin, operation by operation; ids are made up, since names may repeat."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.transforms: list[Operation] = []
        self.problems: list[Problem] = []
        self._sources: dict[DatasetRef, Source] = {}
        self._taken: dict[DatasetRef, dict[str, None]] = {}
        # Fields that were dropped by the operation of that number: of a source, or (None) as some operation made them.
        self._dropped: dict[tuple[DatasetRef | None, FieldPath], int] = {}
        # Of each path the last operation that wrote it, and of each record the paths in it that were ever written.
        self._made: dict[FieldPath, int] = {}
        self._inside: dict[FieldPath, dict[FieldPath, None]] = {}
        for source in sources:
            self._know(source)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(self._sources.values())

    def add(self, operation: FieldOperation) -> None:
        number = len(self.transforms)
        links = {item: tuple(self._links(item, operation.name)) for item in operation.inputs}
        wired = Operation.transform(
            operation.name,
            [link for found in links.values() for link in found],
            [str(output.field) for output in operation.outputs],
            operation.description,
            operation.kind,
            operation.masking,
        )
        wired = replace(
            wired,
            id=_transform_id(number),
            propagate_metadata=operation.propagate_metadata,
            removes_tags=operation.removes_tags,
            direct=_direct(operation, links),
        )
        self.transforms.append(wired)
        if wired.drops:
            for item in operation.inputs:
                self._dropped[None if item.source is None else item.source.ref, item.field] = number
        for output in operation.outputs:
            self._made[output.field] = number
            for record in output.field.ancestors:
                self._inside.setdefault(record, {})[output.field] = None

    def reads(self) -> Iterator[Operation]:
        """One read for each source, of the fields that are taken from it."""
        for ref, source in self._sources.items():
            yield replace(Operation.read(f"read {source.name}", source, self._taken[ref]), id=_read_id(ref))

    def written(self, destination: Destination, implicit_identity: bool) -> list[InputField]:
        """What the destination takes: the fields of its schema, or every last output."""
        if destination.schema is None:
            kept = [path for path, number in self._made.items() if self._drop_of(None, path) < number]
            return [link for path in kept for link in self._made_links(path)]
        links = []
        for path in destination.schema.leaves():
            made = self._made_links(path)
            if not made and implicit_identity:
                made = self._identity(path)
            links.extend(made)
        return links

    def _know(self, source: Source) -> None:
        known = self._sources.get(source.ref)
        self._sources[source.ref] = source if known is None or known.schema is None else known
        self._taken.setdefault(source.ref, {})

    def _links(self, item: Input, operation: str) -> list[InputField]:
        if item.source is not None:
            self._know(item.source)
            return [self._take(item.source.ref, str(item.field))]
        links = self._made_links(item.field)
        if not links:
            self.problems.append(Problem("unknown_input", str(item.field), operation=operation, field=str(item.field)))
            return [InputField(None, str(item.field))]
        return links

    def _take(self, source: DatasetRef, field: str) -> InputField:
        self._taken[source][field] = None
        return InputField(_read_id(source), field)

    def _made_links(self, path: FieldPath) -> list[InputField]:
        """Who made a path as it now is: the last writer of it or of a record around it, and later ones of its parts."""
        whole = max((self._made[one] for one in (path, *path.ancestors) if one in self._made), default=-1)
        parts = {self._made[one] for one in self._inside.get(path, ()) if self._made[one] > whole}
        makers = sorted(parts if whole < 0 else parts | {whole})
        return [InputField(_transform_id(number), str(path)) for number in makers]

    def _drop_of(self, source: DatasetRef | None, path: FieldPath) -> int:
        """The last operation that dropped the field or a record around it, -1 if none did."""
        return max(self._dropped.get((source, one), -1) for one in (path, *path.ancestors))

    def _identity(self, path: FieldPath) -> list[InputField]:
        """The source fields of that name: of sources whose schema has it, or of the only source if it tells none."""
        only = len(self._sources) == 1
        refs = [ref for ref, paths in self._source_paths.items() if (only if paths is None else path in paths)]
        return [self._take(ref, str(path)) for ref in refs if self._drop_of(ref, path) < 0]

    @cached_property
    def _source_paths(self) -> Mapping[DatasetRef, frozenset[FieldPath] | None]:
        """The fields of each source by its schema, None where it tells none; asked for when all sources are known."""
        return {
            ref: None if source.schema is None else frozenset(source.schema.paths())
            for ref, source in self._sources.items()
        }


def _direct(
    operation: FieldOperation, links: Mapping[Input, tuple[InputField, ...]]
) -> dict[str, tuple[InputField, ...]]:
    if not operation.influences:
        return {}
    return {
        str(output.field): tuple(link for item in operation.direct_inputs(place) for link in links[item])
        for place, output in enumerate(operation.outputs)
    }


def _read_id(source: DatasetRef) -> str:
    return f"read {source}"


def _transform_id(number: int) -> str:
    return f"#{number}"
