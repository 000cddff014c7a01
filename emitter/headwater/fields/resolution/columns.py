"""Column lineage of a destination in OpenLineage's terms (columnLineage 1-2-0).

Theory of operation. Operations form a graph, and every chain of operations from a source field to a written field is one
transformation. The number of chains can be exponential; the number of kinds of chains cannot, so kinds are computed for
all fields in one pass and descriptions only while there are few chains.

1. The subtype of a chain is the strongest of IDENTITY < TRANSFORMATION < AGGREGATION among its operations. The chain
   masks if any of them masks. Its description is the names of the operations, joined by " -> ".
2. Several chains between two fields are several transformations; equal ones count once.
3. Filters, sorts, join keys, groups, windows and conditions influence the dataset as a whole (INDIRECT), and so do all
   source fields of their inputs. The key that a join outputs takes its value from its own side only.
4. An identity that preserves the name adds no description. Above ``MAX_CHAINS`` chains nothing has a description: the
   facet with the operations themselves is complete.
5. The description of a chain with a guess begins with ``guess: ``; above ``MAX_CHAINS`` chains, that of all chains if any
   operation is a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from headwater_avro.guesses import PREFIX, is_guess

from ..model.field_operations import INFLUENCES, DatasetField, DatasetRef, OpKind
from ..model.wired import TRANSFORM, WRITE, InputField, Operation, direct_links
from .lineage import FieldLineage, bits

MAX_CHAINS = 20_000
MAX_DESCRIPTION = 1_000
_SUBTYPES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_STRENGTH: Mapping[OpKind | None, int] = {OpKind.AGGREGATE: 2, OpKind.IDENTITY: 0, **dict.fromkeys(INFLUENCES, 0)}
_LEVELS = 6
"""The kinds of chains: level ``2 * strength + masking``. A set of chains is one set of sources per level."""

_OutputKey = tuple[str, str | None]
"""An operation, and one of its outputs if only some of the inputs give it a value."""

_Steps = tuple[str, "_Steps"] | None


@dataclass(frozen=True, slots=True)
class Influence:
    """One transformation from a source field: an item of ``inputFields`` or ``dataset`` with one transformation."""

    source: DatasetField
    type: Literal["DIRECT", "INDIRECT"]
    subtype: str
    masking: bool = False
    description: str | None = None

    @property
    def sort_key(self) -> tuple[str, str, str, str, str, str, bool]:
        """The order of influences in the facet."""
        dataset, field = self.source.dataset, self.source.field
        kind = (self.type, self.subtype)
        return (dataset.namespace or "", dataset.name, field, *kind, self.description or "", self.masking)


@dataclass(frozen=True, slots=True)
class Columns:
    """The column lineage of a destination: the influences on each field, and those on the dataset as a whole."""

    fields: Mapping[str, tuple[Influence, ...]]
    dataset: tuple[Influence, ...]


def columns(lineage: FieldLineage, destination: DatasetRef) -> Columns:
    """Return the column lineage of a destination; generated fields have an empty tuple."""
    chains = _Chains(lineage.operations)
    feeds = {name: chains.feed(links) for name, links in sorted(_written(lineage.operations, destination).items())}
    described = sum(map(chains.count, feeds.values())) <= MAX_CHAINS
    dataset = sorted_influences(
        influence
        for operation in lineage.operations
        if operation.kind in INFLUENCES and (operation.reaches is None or destination in operation.reaches)
        for influence in chains.indirect(operation)
    )
    return Columns({name: sorted_influences(chains.direct(feed, described)) for name, feed in feeds.items()}, dataset)


def part_of(operation: Operation, field: str) -> str | None:
    """Return the output if only some inputs give it a value, None if all inputs feed all outputs."""
    return field if operation.kind in INFLUENCES else None


def parts_of(operation: Operation) -> tuple[str | None, ...]:
    """Return every value that ``part_of`` has for the outputs of the operation."""
    return operation.outputs if operation.kind in INFLUENCES else (None,)


def links_of(operation: Operation, part: str | None) -> tuple[InputField, ...]:
    """Return the inputs that give this part of the outputs its value."""
    return operation.inputs if part is None else direct_links(operation, part)


def sorted_influences(influences: Iterable[Influence]) -> tuple[Influence, ...]:
    """Return the influences sorted, without duplicates."""
    return tuple(sorted(dict.fromkeys(influences), key=lambda influence: influence.sort_key))


def _written(operations: Iterable[Operation], destination: DatasetRef) -> dict[str, list[InputField]]:
    written: dict[str, list[InputField]] = defaultdict(list)
    for operation in operations:
        if operation.type is WRITE and operation.dataset == destination:
            for link in operation.inputs:
                written[link.field].append(link)
    return written


@dataclass(frozen=True, slots=True)
class _Feed:
    """What feeds a field: source fields, and operations, each once however many of its fields are inputs."""

    sources: tuple[DatasetField, ...]
    before: tuple[_OutputKey, ...]


class _Chains:
    """The chains from source fields to the outputs of each operation."""

    def __init__(self, ordered: Iterable[Operation]) -> None:
        self._by_id = {operation.id: operation for operation in ordered}
        self._feeds: dict[_OutputKey, _Feed] = {}
        self._positions: dict[DatasetField, int] = {}
        self._masks: dict[_OutputKey, list[int]] = {}
        self._counts: dict[_OutputKey, int] = {}
        self._guess = next((_description([_label(one)]) for one in self._by_id.values() if one.guess), None)
        for operation in self._by_id.values():
            for part in parts_of(operation) if operation.type is TRANSFORM else ():
                key = (operation.id, part)
                feed = self._feeds[key] = self.feed(links_of(operation, part))
                self._counts[key] = self.count(feed)
                masks = self._masks[key] = [0] * _LEVELS
                for level, mask in enumerate(self._arriving(feed)):
                    if mask:
                        masks[_level(level, operation)] |= mask

    def feed(self, links: Iterable[InputField]) -> _Feed:
        """Return what feeds a field that is made of these inputs."""
        sources: dict[DatasetField, None] = {}
        before: dict[_OutputKey, None] = {}
        done = None
        for link in links:
            if link.origin is None or link.origin == done:
                continue
            origin = self._by_id.get(link.origin)
            if origin is None or origin.type is WRITE:
                continue
            done = None if origin.dataset is not None or origin.kind in INFLUENCES else origin.id
            if origin.dataset is not None:
                sources[DatasetField(origin.dataset, link.field)] = None
            elif (key := (origin.id, part_of(origin, link.field))) in self._feeds:
                before[key] = None
        return _Feed(tuple(sources), tuple(before))

    def _arriving(self, feed: _Feed) -> list[int]:
        masks = [0] * _LEVELS
        for source in feed.sources:
            masks[0] |= 1 << self._positions.setdefault(source, len(self._positions))
        for key in feed.before:
            for level, mask in enumerate(self._masks[key]):
                masks[level] |= mask
        return masks

    def count(self, feed: _Feed) -> int:
        """Return the number of chains that lead to a field."""
        return len(feed.sources) + sum(self._counts[key] for key in feed.before)

    def direct(self, feed: _Feed, described: bool) -> Iterator[Influence]:
        """Yield the influences on a field, one for each kind of chain or, if described, for each description."""
        descriptions = self._descriptions(feed) if described else {}
        masks = self._arriving(feed)
        fields = tuple(self._positions)
        for level, mask in enumerate(masks):
            for position in bits(mask):
                source = fields[position]
                for description in descriptions.get((source, level), {self._guess: None}):
                    yield Influence(source, "DIRECT", _SUBTYPES[level // 2], bool(level % 2), description)

    def indirect(self, operation: Operation) -> Iterator[Influence]:
        """Yield the influences of an operation on the dataset as a whole."""
        assert operation.kind is not None
        united = 0
        for mask in self._arriving(self.feed(operation.inputs)):
            united |= mask
        fields = tuple(self._positions)
        description = _description([_label(operation)])
        for position in bits(united):
            subtype = INFLUENCES[operation.kind]
            yield Influence(fields[position], "INDIRECT", subtype, operation.masking, description)

    def _descriptions(self, start: _Feed) -> dict[tuple[DatasetField, int], dict[str | None, None]]:
        """Return the descriptions by source and kind of chain; takes one round for each chain (see ``MAX_CHAINS``)."""
        found: dict[tuple[DatasetField, int], dict[str | None, None]] = defaultdict(dict)
        stack: list[tuple[_Feed, int, _Steps, bool]] = [(start, 0, None, False)]
        while stack:
            feed, level, steps, changed = stack.pop()
            if feed.sources:
                text = _description(_unrolled(steps)) if changed else None
                for source in feed.sources:
                    found[source, level][text] = None
            for key in feed.before:
                operation = self._by_id[key[0]]
                label = "" if operation.implicit else _label(operation)
                longer = (label, steps) if label else steps
                stack.append(
                    (self._feeds[key], _level(level, operation), longer, changed or not _preserves_name(operation))
                )
        return found


def _unrolled(steps: _Steps) -> Iterator[str]:
    while steps is not None:
        step, steps = steps
        yield step


def _level(level: int, operation: Operation) -> int:
    strength = max(level // 2, _STRENGTH.get(operation.kind, 1))
    return 2 * strength + (level % 2 | operation.masking)


def _label(operation: Operation) -> str:
    text = ": ".join(text for text in (operation.name, operation.description) if text)
    return PREFIX + text if operation.guess else text


def _preserves_name(operation: Operation) -> bool:
    names = {link.field for link in operation.inputs} | set(operation.outputs)
    return operation.kind is OpKind.IDENTITY and len(names) == 1


def _description(steps: Iterable[str]) -> str | None:
    """Return the steps in one line, truncated to ``MAX_DESCRIPTION`` characters; of a guess it begins with ``guess: ``."""
    listed = list(steps)
    text = PREFIX if any(map(is_guess, listed)) else ""
    for number, step in enumerate(listed):
        text += (" -> " if number else "") + step.removeprefix(PREFIX)
        if len(text) > MAX_DESCRIPTION:
            return text[: MAX_DESCRIPTION - 1] + "…"
    return text or None
