"""The Plugin API of seed 002: stages of a pipeline record, the pipeline wires what they recorded.

1. Stages are taken in topological order; an operation is called ``stage.name``, so names are unique per stage.
2. An input means the nearest operation back along the branch that made the field, within a stage the last one so
   far. A field that no stage mentions thereby passes through.
3. Where a stage that is no joiner has several inputs, each field of the branches gets one merge operation,
   ``a,b.merge.field``, once for the same inputs however many stages have them.
4. A joiner merges nothing: its inputs are (stage, field) pairs, or fields it made itself before.
5. A stage that records nothing but has schemas counts as one operation from all inputs to all outputs.
6. A field with no origin anywhere is kept, with no sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.field_operations import INFLUENCES, DatasetRef, Destination, OpKind, Source
from ..model.problems import InvalidLineage, Problem
from ..model.wired import InputField, Operation, OperationType
from ..resolution.lineage import FieldLineage
from ..resolution.order import cyclic, successors, topological
from ..resolution.resolve import resolve_operations
from .stage import Stage, StageField, StageOperation, StageRecorder

Connection = tuple[str, str]


class Pipeline:
    """Stages and the connections between them; ``stage`` adds one and returns its recorder.

    >>> from headwater.fields import FieldOperation
    >>> pipeline = Pipeline()
    >>> _ = pipeline.stage("users", source=Source.of("crm", "users"), output_schema=["id", "name"])
    >>> clean = pipeline.stage("clean", inputs=["users"])
    >>> clean.record([FieldOperation("upper", ["name"], ["name"])])
    >>> _ = pipeline.stage("store", inputs=["clean"], destination=Destination.of("wh", "people"))
    >>> sorted(map(str, pipeline.resolve().incoming))
    ['wh:people#id', 'wh:people#name']
    """

    def __init__(self, stages: Iterable[Stage] = (), connections: Iterable[Connection] = ()) -> None:
        self._recorders = {stage.name: StageRecorder(stage) for stage in stages}
        self._connections: dict[Connection, None] = dict.fromkeys(connections)

    def stage(
        self,
        name: str,
        *,
        inputs: Iterable[str] = (),
        source: Source | None = None,
        destination: Destination | None = None,
        input_schema: Iterable[str] | None = None,
        output_schema: Iterable[str] | None = None,
        joiner: bool = False,
        propagate_metadata: bool = False,
    ) -> StageRecorder:
        """Add a stage and its input connections; what it records goes to the recorder returned."""
        stage = Stage(
            name,
            source=source,
            destination=destination,
            input_fields=None if input_schema is None else tuple(input_schema),
            output_fields=None if output_schema is None else tuple(output_schema),
            joiner=joiner,
            propagate_metadata=propagate_metadata,
        )
        self._recorders[name] = StageRecorder(stage)
        for one in inputs:
            self.connect(one, name)
        return self._recorders[name]

    def connect(self, before: str, after: str) -> None:
        """Let one stage's records flow into another."""
        self._connections[before, after] = None

    def operations(self) -> tuple[Operation, ...]:
        """The wired operations of the whole pipeline, in the stages' order; InvalidLineage for a cycle of stages."""
        return wire([recorder.stage for recorder in self._recorders.values()], self._connections)

    def resolve(self, *, strict: bool = False) -> FieldLineage:
        """Resolve the pipeline; InvalidLineage for cycles and repeated names, in strict mode for every fault."""
        stages = [recorder.stage for recorder in self._recorders.values()]
        return resolve_operations(
            self.operations(),
            strict=strict,
            sources={stage.source.ref: stage.source for stage in stages if stage.source is not None},
            destinations={stage.destination.ref: stage.destination for stage in stages if stage.destination},
        )


def wire(stages: Sequence[Stage], connections: Iterable[Connection]) -> tuple[Operation, ...]:
    """Wire the operations of all stages; a stage that only a connection names records nothing."""
    edges = list(connections)
    named = {stage.name: stage for stage in stages}
    for name in dict.fromkeys(name for edge in edges for name in edge):
        named.setdefault(name, Stage(name))
    before: dict[str, list[str]] = {name: [] for name in named}
    for one, other in dict.fromkeys(edges):
        before[other].append(one)
    _check(named, before)
    wiring = _Wiring(named, before)
    for name in topological(before):
        wiring.add(named[name])
    return tuple(wiring.wired)


def _check(named: Mapping[str, Stage], before: Mapping[str, Sequence[str]]) -> None:
    problems = [Problem("cycle", name, stage=name) for name in sorted(cyclic(before))]
    for stage in named.values():
        for name, times in Counter(operation.name for operation in stage.operations).items():
            if times > 1:
                problems.append(Problem("repeated_name", f"{stage.name}.{name}", stage.name, name))
    if problems:
        raise InvalidLineage(problems)


@dataclass(slots=True)
class _Seen:
    """What a stage hands on: of each field the operation that made it, and which fields are dropped by then."""

    origins: dict[str, str]
    dropped: set[str]


class _Wiring:
    def __init__(self, named: Mapping[str, Stage], before: Mapping[str, Sequence[str]]) -> None:
        self.wired: list[Operation] = []
        self._named = named
        self._before = before
        self._seen: dict[str, _Seen] = {}
        self._merged: dict[tuple[str, ...], _Seen] = {}
        self._marked: dict[tuple[str, str], str] = {}
        self._sinks = _sinks(named, before)

    def add(self, stage: Stage) -> None:
        seen = self._arriving(stage)
        own: dict[str, str] = {}
        for operation in stage.made():
            self._make(stage, operation, seen, own)
        write = stage.write([name for name in seen.origins if name not in seen.dropped])
        if write is not None:
            self._make(stage, write, seen, own)
        self._seen[stage.name] = seen

    def _make(self, stage: Stage, operation: StageOperation, seen: _Seen, own: dict[str, str]) -> None:
        wired = self._wire(stage, operation, seen.origins, own)
        self.wired.append(wired)
        if wired.drops:
            seen.dropped.update(link.field for link in wired.inputs)
        for output in wired.outputs:
            own[output] = seen.origins[output] = wired.id
            seen.dropped.discard(output)
            if operation.marker is not None:
                self._marked[operation.marker, output] = wired.id

    def _wire(
        self, stage: Stage, operation: StageOperation, origins: Mapping[str, str], own: Mapping[str, str]
    ) -> Operation:
        links = {item: self._link(stage, operation, item, origins, own) for item in operation.inputs}
        name = f"{stage.name}.{operation.name}"
        influences = operation.kind is not None and operation.kind in INFLUENCES
        return Operation(
            type=operation.type,
            name=name,
            id=name,
            dataset=operation.dataset,
            inputs=tuple(dict.fromkeys(links.values())),
            outputs=operation.outputs,
            description=operation.description,
            kind=operation.kind,
            masking=operation.masking,
            propagate_metadata=operation.propagate_metadata or stage.propagate_metadata,
            removes_tags=operation.removes_tags,
            direct={output: tuple(links[item] for item in items) for output, items in operation.direct.items()},
            reaches=self._sinks[stage.name] if influences else None,
        )

    def _link(
        self,
        stage: Stage,
        operation: StageOperation,
        item: StageField,
        origins: Mapping[str, str],
        own: Mapping[str, str],
    ) -> InputField:
        if operation.type is OperationType.WRITE and operation.marker is not None:
            marked = self._marked.get((operation.marker, item.field))
            if marked is not None:
                return InputField(marked, item.field)
        if item.stage is not None:
            return InputField(self._handed_on(item.stage).get(item.field), item.field)
        if stage.joiner:
            return self._joined(stage, item.field, own)
        return InputField(origins.get(item.field), item.field)

    def _joined(self, stage: Stage, text: str, own: Mapping[str, str]) -> InputField:
        """A joiner's input written ``stage.field``; both may contain dots, so the split that fits is looked for."""
        splits = [(text[:dot], text[dot + 1 :]) for dot, char in enumerate(text) if char == "."]
        named = [(name, field) for name, field in reversed(splits) if name in self._named and field]
        inputs = self._before[stage.name]
        named.sort(key=lambda pair: pair[0] not in inputs)
        for name, field in named:
            origin = self._handed_on(name).get(field)
            if origin is not None:
                return InputField(origin, field)
        if text in own or not named:
            return InputField(own.get(text), text)
        return InputField(None, named[0][1])

    def _handed_on(self, stage: str) -> Mapping[str, str]:
        return self._seen[stage].origins if stage in self._seen else {}

    def _arriving(self, stage: Stage) -> _Seen:
        inputs = tuple(sorted(self._before[stage.name]))
        if stage.joiner or not inputs:
            return _Seen({}, set())
        before = self._seen[inputs[0]] if len(inputs) == 1 else self._merge(inputs)
        return _Seen(dict(before.origins), set(before.dropped))

    def _merge(self, inputs: tuple[str, ...]) -> _Seen:
        """One merge operation per field of the branches, each with the origins that the branches have for it."""
        if inputs not in self._merged:
            branches = [self._seen[name] for name in inputs]
            fields = dict.fromkeys(name for branch in branches for name in branch.origins)
            origins = {}
            for name in fields:
                merge = _merge_operation(inputs, name, [branch.origins.get(name) for branch in branches])
                self.wired.append(merge)
                origins[name] = merge.id
            alive = {name for branch in branches for name in branch.origins if name not in branch.dropped}
            self._merged[inputs] = _Seen(origins, set(fields) - alive)
        return self._merged[inputs]


def _merge_operation(inputs: Sequence[str], field: str, origins: Iterable[str | None]) -> Operation:
    stages = ",".join(inputs)
    merge = Operation.transform(
        f"{stages}.merge.{field}",
        [InputField(origin, field) for origin in origins if origin is not None],
        [field],
        f"Merged stages: {stages}",
    )
    return replace(merge, kind=OpKind.IDENTITY, propagate_metadata=True, implicit=True)


def _sinks(named: Mapping[str, Stage], before: Mapping[str, Sequence[str]]) -> dict[str, frozenset[DatasetRef]]:
    """For each stage the datasets that it or a stage behind it writes."""
    after = successors(before)
    sinks: dict[str, frozenset[DatasetRef]] = {}
    for name in reversed(topological(before)):
        behind = [sinks[one] for one in after[name]]
        sinks[name] = frozenset(named[name].written()).union(*behind)
    return sinks
