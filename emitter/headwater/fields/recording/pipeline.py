"""Pipelines of stages: wire the operations that the stages record.

1. Stages are processed in topological order. An operation is named ``stage.name``; names are unique within a stage.
2. The origin of an input is the nearest upstream operation that outputs the field; within a stage, the latest one.
   Hence a field that a stage does not mention passes through it.
3. Where several stages flow into one that is not a joiner, each of their fields gets one merge operation,
   ``a,b.merge.field``, shared by all stages with the same inputs.
4. A joiner does not merge: its inputs are (stage, field) pairs, or fields that it output before.
5. A stage that has schemas but records nothing counts as one operation from all inputs to all outputs.
6. A field without an origin is retained without sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.field_operations import INFLUENCES, DatasetRef, Destination, OpKind, Source
from ..model.problems import InvalidLineage, Problem
from ..model.wired import WRITE, InputField, Operation, passed_on
from ..resolution.lineage import FieldLineage
from ..resolution.order import cyclic, successors, topological
from ..resolution.resolve import resolve_operations
from .stage import Stage, StageField, StageOperation, StageRecorder

Connection = tuple[str, str]


class Pipeline:
    """Stages and the connections between them; ``stage`` adds a stage and returns its recorder.

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
        """Add a stage with its input connections and return its recorder."""
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
        for before in inputs:
            self.connect(before, name)
        return self._recorders[name]

    def connect(self, before: str, after: str) -> None:
        """Add a connection from a stage to a later one."""
        self._connections[before, after] = None

    def operations(self) -> tuple[Operation, ...]:
        """Return the wired operations of the pipeline in the order of its stages; raise InvalidLineage for a cycle."""
        return wire([recorder.stage for recorder in self._recorders.values()], self._connections)

    def resolve(self, *, strict: bool = False) -> FieldLineage:
        """Return the lineage; raise InvalidLineage for cycles and repeated names, in strict mode for every fault."""
        stages = [recorder.stage for recorder in self._recorders.values()]
        return resolve_operations(
            self.operations(),
            strict=strict,
            sources={stage.source.ref: stage.source for stage in stages if stage.source is not None},
            destinations={stage.destination.ref: stage.destination for stage in stages if stage.destination},
        )


def wire(stages: Sequence[Stage], connections: Iterable[Connection]) -> tuple[Operation, ...]:
    """Return the wired operations of all stages; a stage that only a connection names has none."""
    edges = list(connections)
    named = {stage.name: stage for stage in stages}
    for name in dict.fromkeys(name for edge in edges for name in edge):
        named.setdefault(name, Stage(name))
    before: dict[str, list[str]] = {name: [] for name in named}
    for upstream, downstream in dict.fromkeys(edges):
        before[downstream].append(upstream)
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
class _StageState:
    """The fields at the end of a stage: the operations that output them, here or upstream, and the dropped fields."""

    origins: dict[str, str]
    dropped: set[str]
    own: dict[str, str]


class _Wiring:
    def __init__(self, named: Mapping[str, Stage], before: Mapping[str, Sequence[str]]) -> None:
        self.wired: list[Operation] = []
        self._named = named
        self._before = before
        self._state: dict[str, _StageState] = {}
        self._merged: dict[tuple[str, ...], _StageState] = {}
        self._with_marker: dict[tuple[str, str], str] = {}
        self._sinks = _sinks(named, before)

    def add(self, stage: Stage) -> None:
        state = self._arriving(stage)
        for operation in stage.operations_before_write():
            self._add_operation(stage, operation, state)
        write = stage.write([name for name in state.origins if name not in state.dropped])
        if write is not None:
            self._add_operation(stage, write, state)
        self._state[stage.name] = state

    def _add_operation(self, stage: Stage, operation: StageOperation, state: _StageState) -> None:
        wired = self._wire(stage, operation, state)
        self.wired.append(wired)
        if wired.drops:
            state.dropped.update(link.field for link in wired.inputs)
        for output in wired.outputs:
            state.own[output] = state.origins[output] = wired.id
            state.dropped.discard(output)
            if operation.marker is not None:
                self._with_marker[operation.marker, output] = wired.id

    def _wire(self, stage: Stage, operation: StageOperation, state: _StageState) -> Operation:
        links = {item: self._link(stage, operation, item, state) for item in operation.inputs}
        more = passed_on(operation) | ({"propagate_metadata": True} if stage.propagate_metadata else {})
        name = f"{stage.name}.{operation.name}"
        return Operation(
            type=operation.type,
            name=name,
            id=name,
            dataset=operation.dataset,
            inputs=tuple(dict.fromkeys(links.values())),
            outputs=operation.outputs,
            direct={output: tuple(links[item] for item in items) for output, items in operation.direct.items()},
            reaches=self._sinks[stage.name] if operation.kind in INFLUENCES else None,
            **more,
        )

    def _link(self, stage: Stage, operation: StageOperation, item: StageField, state: _StageState) -> InputField:
        if operation.type is WRITE and operation.marker is not None:
            origin = self._with_marker.get((operation.marker, item.field))
            if origin is not None:
                return InputField(origin, item.field)
        if item.stage is not None:
            return InputField(self._outputs(item.stage).get(item.field), item.field)
        if stage.joiner:
            return self._joiner_input(stage, item.field, state.own)
        return InputField(state.origins.get(item.field), item.field)

    def _joiner_input(self, stage: Stage, text: str, own: Mapping[str, str]) -> InputField:
        """Return the origin of a joiner's input ``stage.field``; both names can contain dots, so every split is tried."""
        splits = [(text[:dot], text[dot + 1 :]) for dot, char in enumerate(text) if char == "."]
        named = [(name, field) for name, field in reversed(splits) if name in self._named and field]
        inputs = self._before[stage.name]
        named.sort(key=lambda pair: pair[0] not in inputs)
        for name, field in named:
            origin = self._outputs(name).get(field)
            if origin is not None:
                return InputField(origin, field)
        if text in own or not named:
            return InputField(own.get(text), text)
        return InputField(None, named[0][1])

    def _outputs(self, stage: str) -> Mapping[str, str]:
        return self._state[stage].origins if stage in self._state else {}

    def _arriving(self, stage: Stage) -> _StageState:
        inputs = tuple(sorted(self._before[stage.name]))
        if stage.joiner or not inputs:
            return _StageState({}, set(), {})
        before = self._state[inputs[0]] if len(inputs) == 1 else self._merge(inputs)
        return _StageState(dict(before.origins), set(before.dropped), {})

    def _merge(self, inputs: tuple[str, ...]) -> _StageState:
        """Add a merge operation for each field of the branches, with the origins of the field in the branches."""
        if inputs not in self._merged:
            branches = [self._state[name] for name in inputs]
            fields = dict.fromkeys(name for branch in branches for name in branch.origins)
            origins = {}
            for name in fields:
                merge = _merge_operation(inputs, name, [branch.origins.get(name) for branch in branches])
                self.wired.append(merge)
                origins[name] = merge.id
            alive = {name for branch in branches for name in branch.origins if name not in branch.dropped}
            self._merged[inputs] = _StageState(origins, set(fields) - alive, {})
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
    """Return for each stage the datasets that it or a downstream stage writes."""
    after = successors(before)
    sinks: dict[str, frozenset[DatasetRef]] = {}
    for name in reversed(topological(before)):
        sinks[name] = frozenset(named[name].written()).union(*(sinks[later] for later in after[name]))
    return sinks
