"""Field lineage in OpenLineage's terms (columnLineage 1-2-0): what kind of influence, by which operations.

1. A chain of operations is one transformation: its subtype is the strongest of IDENTITY < TRANSFORMATION <
   AGGREGATION on the way, it masks if any step masks, its description is the steps' names joined by " -> ".
2. Several ways between two fields are several transformations; equal ones count once.
3. Filters, sorts, join keys, groups, windows and conditions influence the dataset as a whole: INDIRECT, and so do
   all fields that their inputs come from. A join's key has the value of its own side.
4. An identity that keeps the name has no description. Where there are more ways than `MOST_WAYS`, none has one:
   the operations themselves tell them all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ..model.field_operations import INFLUENCES, DatasetField, DatasetRef, OpKind
from ..model.wired import InputField, Operation, OperationType, direct_links
from .lineage import FieldLineage, bits

MOST_WAYS = 20_000
LONGEST_DESCRIPTION = 1_000
_SUBTYPES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_STRENGTH: Mapping[OpKind | None, int] = {OpKind.AGGREGATE: 2, OpKind.IDENTITY: 0, **dict.fromkeys(INFLUENCES, 0)}

# A set of ways is six sets of sources, one for each (strength, masking): place 2 * strength + masking.
_Masks = tuple[int, int, int, int, int, int]
_NONE: _Masks = (0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Influence:
    """One transformation from a source field: an item of ``inputFields`` or ``dataset`` with one transformation."""

    source: DatasetField
    type: Literal["DIRECT", "INDIRECT"]
    subtype: str
    masking: bool = False
    description: str | None = None

    @property
    def sort_key(self) -> tuple[str, str, str, str, str, bool]:
        dataset = self.source.dataset
        return (
            dataset.namespace or "",
            dataset.name,
            self.source.field,
            f"{self.type} {self.subtype}",
            self.description or "",
            self.masking,
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """The column lineage of one destination: for each field what it is made of, and what influences all of them."""

    fields: Mapping[str, tuple[Influence, ...]]
    dataset: tuple[Influence, ...]


def columns(lineage: FieldLineage, destination: DatasetRef) -> Columns:
    """The column lineage of one destination; fields made from nothing have an empty tuple."""
    ways = _Ways(lineage.operations)
    written = _written(lineage.operations, destination)
    taken = {name: ways.step(links) for name, links in sorted(written.items())}
    named = sum(map(ways.count, taken.values())) <= MOST_WAYS
    dataset = _sorted(
        influence
        for operation in lineage.operations
        if operation.kind in INFLUENCES and (operation.reaches is None or destination in operation.reaches)
        for influence in ways.indirect(operation)
    )
    return Columns({name: _sorted(ways.direct(step, named)) for name, step in taken.items()}, dataset)


def _written(operations: Iterable[Operation], destination: DatasetRef) -> dict[str, list[InputField]]:
    written: dict[str, list[InputField]] = defaultdict(list)
    for operation in operations:
        if operation.type is OperationType.WRITE and operation.dataset == destination:
            for link in operation.inputs:
                written[link.field].append(link)
    return written


def _sorted(influences: Iterable[Influence]) -> tuple[Influence, ...]:
    return tuple(sorted(dict.fromkeys(influences), key=lambda influence: influence.sort_key))


def _strength(operation: Operation) -> int:
    return _STRENGTH.get(operation.kind, 1)


def _told(operation: Operation) -> str:
    return ": ".join(text for text in (operation.name, operation.description) if text)


def _keeps_name(operation: Operation) -> bool:
    names = {link.field for link in operation.inputs} | set(operation.outputs)
    return operation.kind is OpKind.IDENTITY and len(names) == 1


_Key = tuple[str, str | None]
"""An operation, and one of its outputs where only some inputs give values."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What feeds one field: source fields, and operations, each once however many of its fields are taken."""

    sources: tuple[DatasetField, ...]
    before: tuple[_Key, ...]


class _Ways:
    """The ways from source fields to each operation's outputs."""

    def __init__(self, ordered: Iterable[Operation]) -> None:
        self._by_id = {operation.id: operation for operation in ordered}
        self._steps: dict[_Key, _Step] = {}
        self._places: dict[DatasetField, int] = {}
        self._masks: dict[_Key, _Masks] = {}
        self._counts: dict[_Key, int] = {}
        for operation in self._by_id.values():
            for part in _parts(operation) if operation.type is OperationType.TRANSFORM else ():
                self._add(operation, part)

    def _add(self, operation: Operation, part: str | None) -> None:
        key = (operation.id, part)
        step = self._steps[key] = self.step(_links(operation, part))
        self._masks[key] = _through(operation, self._arriving(step))
        self._counts[key] = self.count(step)

    def step(self, links: Iterable[InputField]) -> _Step:
        """What feeds a field that is made of these."""
        sources: dict[DatasetField, None] = {}
        before: dict[_Key, None] = {}
        done = None
        for link in links:
            if link.origin is None or link.origin == done:
                continue
            origin = self._by_id.get(link.origin)
            if origin is None or origin.type is OperationType.WRITE:
                continue
            done = None if origin.dataset is not None or origin.kind in INFLUENCES else origin.id
            if origin.dataset is not None:
                sources[DatasetField(origin.dataset, link.field)] = None
            elif (key := (origin.id, _part(origin, link.field))) in self._steps:
                before[key] = None
        return _Step(tuple(sources), tuple(before))

    def _arriving(self, step: _Step) -> _Masks:
        direct = 0
        for source in step.sources:
            direct |= 1 << self._places.setdefault(source, len(self._places))
        united = [direct, 0, 0, 0, 0, 0]
        for key in step.before:
            for level, mask in enumerate(self._masks[key]):
                united[level] |= mask
        return (united[0], united[1], united[2], united[3], united[4], united[5])

    def count(self, step: _Step) -> int:
        """How many ways lead to a field."""
        return len(step.sources) + sum(self._counts[key] for key in step.before)

    def direct(self, step: _Step, named: bool) -> Iterator[Influence]:
        descriptions = self._descriptions(step) if named else {}
        masks = self._arriving(step)
        fields = tuple(self._places)
        for level, mask in enumerate(masks):
            for place in bits(mask):
                source = fields[place]
                for description in descriptions.get((source, level), {None: None}):
                    yield Influence(source, "DIRECT", _SUBTYPES[level // 2], bool(level % 2), description)

    def indirect(self, operation: Operation) -> Iterator[Influence]:
        assert operation.kind is not None
        masks = self._arriving(self.step(operation.inputs))
        fields = tuple(self._places)
        for place in bits(masks[0] | masks[1] | masks[2] | masks[3] | masks[4] | masks[5]):
            subtype = INFLUENCES[operation.kind]
            yield Influence(fields[place], "INDIRECT", subtype, operation.masking, _cut([_told(operation)]))

    def _descriptions(self, start: _Step) -> dict[tuple[DatasetField, int], dict[str | None, None]]:
        """For each source and kind of way the steps of all ways; as many rounds as there are ways (see `MOST_WAYS`)."""
        found: dict[tuple[DatasetField, int], dict[str | None, None]] = defaultdict(dict)
        stack: list[tuple[_Step, int, _Path, bool]] = [(start, 0, None, False)]
        while stack:
            step, level, path, changed = stack.pop()
            if step.sources:
                text = _cut(_walk(path)) if changed else None
                for source in step.sources:
                    found[source, level][text] = None
            for key in step.before:
                operation = self._by_id[key[0]]
                told = "" if operation.implicit else _told(operation)
                different = changed or not _keeps_name(operation)
                stack.append((self._steps[key], _level(level, operation), (told, path) if told else path, different))
        return found


_Path = tuple[str, "_Path"] | None


def _walk(path: _Path) -> Iterator[str]:
    while path is not None:
        step, path = path
        yield step


def _parts(operation: Operation) -> tuple[str | None, ...]:
    return operation.outputs if operation.kind in INFLUENCES else (None,)


def _part(operation: Operation, field: str) -> str | None:
    return field if operation.kind in INFLUENCES else None


def _links(operation: Operation, output: str | None) -> tuple[InputField, ...]:
    return operation.inputs if output is None else direct_links(operation, output)


def _level(level: int, operation: Operation) -> int:
    strength = max(level // 2, _STRENGTH.get(operation.kind, 1))
    return 2 * strength + (level % 2 | operation.masking)


def _through(operation: Operation, arriving: _Masks) -> _Masks:
    passed = [0] * 6
    for level, mask in enumerate(arriving):
        if mask:
            passed[_level(level, operation)] |= mask
    return (passed[0], passed[1], passed[2], passed[3], passed[4], passed[5])


def _cut(steps: Iterable[str]) -> str | None:
    """The steps in one line, as many as fit."""
    text = ""
    for step in steps:
        text = f"{text} -> {step}" if text else step
        if len(text) > LONGEST_DESCRIPTION:
            return text[: LONGEST_DESCRIPTION - 1] + "…"
    return text or None
