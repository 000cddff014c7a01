"""The inputs and outputs of a plan, with schemas and column lineage.  Pure except for the ``Catalog`` port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..datasets import facets, jdbc_query
from ..datasets.connectors import Connector, sink_of, source_of
from ..datasets.names import DatasetName
from ..datasets.systems import sent_query
from ..datasets.tables import Catalog, Dataset, PlanScope, merged
from ..datasets.writes import Written, copied_from, loaded_from
from ..datasets.written import into, overwriting
from ..plan.columns import OPAQUE, Columns, Flow
from ..plan.lineage import NOTHING, UNREAD, Lineage, Source, indirect
from ..plan.model import Attribute, Plan, PlanNode, plan_index
from ..plan.node_rules import RULES
from .column_facets import MOST_COLUMNS, MOST_SOURCES, column_facet
from .plan_context import PlanContext

# Commands whose inputs are reported even if their output is not known (``noop``, a library's sink).
_WRITES_A_QUERY = frozenset(
    {
        "AppendData",
        "OverwriteByExpression",
        "OverwritePartitionsDynamic",
        "SaveIntoDataSourceCommand",
        "InsertIntoDataSourceCommand",
        "WriteToDataSourceV2",
    }
)

_CHANGES = {
    "CreateTableAsSelect": "CREATE",
    "ReplaceTableAsSelect": "OVERWRITE",
    "OverwriteByExpression": "OVERWRITE",
    "OverwritePartitionsDynamic": "OVERWRITE",
}


@dataclass(frozen=True, slots=True)
class PlanLineage:
    """The inputs and outputs of a plan, each dataset once.

    ``suffix`` is the output's part of the job's name; ``scans`` maps leaf columns (by ExprId) to inputs; ``missing`` is the
    reason why lineage is incomplete (a limit, a connector that is not known), or None; ``unknown`` is whether it reads or
    writes a dataset without a name.
    """

    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    suffix: str = ""
    scans: tuple[tuple[frozenset[int], DatasetName], ...] = ()
    missing: str | None = None

    unknown: bool = False

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs or self.unknown)

    def incomplete(self) -> dict[str, facets.Facet]:
        """Return the run facet with the reason why lineage is missing, under its name; nothing where it is complete."""
        return {} if self.missing is None else {"headwater_incomplete": facets.custom(reason=self.missing)}


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose lineage is not in the plan that uses it: a checkpoint, the batch of a foreachBatch."""

    output: tuple[Attribute, ...]
    columns: tuple[Lineage, ...]
    rows: frozenset[Source]
    inputs: tuple[Dataset, ...]

    def matches(self, node: PlanNode) -> bool:
        """Return whether a leaf reads this frame: it has the same columns, by ExprId or by name and type."""
        if len(node.output) != len(self.output):
            return False
        pairs = list(zip(node.output, self.output, strict=True))
        return all(a.id == b.id for a, b in pairs) or all(a.name == b.name and a.type == b.type for a, b in pairs)

    def flow(self, node: PlanNode) -> Flow:
        """Return the flow of a leaf that reads this frame."""
        return Flow({a.id: value for a, value in zip(node.output, self.columns, strict=True)}, self.rows)


@dataclass(slots=True)
class Extraction:
    """The extraction of one plan's lineage; ``frames`` are those of earlier plans, newest last."""

    plan: Plan
    context: PlanContext
    frames: Sequence[Frame] = ()
    _read: dict[int, list[Dataset]] = field(default_factory=dict)
    _unread: int = 0
    _above_limits: int = 0
    _connectors: dict[str, Connector] = field(default_factory=dict)
    _unnamed_leaves: set[int] = field(default_factory=set)

    @property
    def catalog(self) -> Catalog:
        """Return the catalogs behind the plan."""
        return self.context.readers.catalog

    def lineage(self) -> PlanLineage:
        """Return the plan's lineage: inputs from the leaves of what is written (or of the query), outputs from the root."""
        root = self.plan.root
        if root is None or root.kind == "CommandResult":
            return PlanLineage()
        commands = self.plan.commands()
        writes = [written for command in commands for written in self._writes(command)]
        if not writes:
            reads = not commands or root.kind in _WRITES_A_QUERY or bool(self._connectors)
            found = merged(self._inputs((root.index, *self.plan.leaves))) if reads else ()
            return PlanLineage(found, (), "", self._scans(), self._missing(), self._unnamed()) or PlanLineage()
        sources = [index for written in writes for index in written.sources]
        copied = copied_from(PlanScope(self.plan, self.catalog), root)
        inputs = [*loaded_from(root), *copied, *self._inputs([*sources, *(self.plan.leaves if sources else ())])]
        outputs = merged(self._with_columns(written) for written in writes)
        suffix = writes[0].job_suffix if len(outputs) == 1 else ""
        return PlanLineage(merged(inputs), outputs, suffix, self._scans(), self._missing(), self._unnamed())

    def _missing(self) -> str | None:
        reasons = [self._limit(), *(connector.reason for connector in self._connectors.values())]
        return "; ".join(reason for reason in reasons if reason is not None) or None

    def _limit(self) -> str | None:
        if self.plan.truncated is not None:
            limit = f"the plan is above a limit of {self.plan.truncated}"
            return f"{limit}: no column lineage, and inputs of sub-queries may be missing"
        if self.plan.limit is not None:
            return f"the plan is above a limit of {self.plan.limit}: no lineage of {self._unread} columns"
        if self._above_limits:
            return f"no lineage of {self._above_limits} columns, above {MOST_COLUMNS} columns or {MOST_SOURCES} sources"
        return None

    def _unnamed(self) -> bool:
        return any(not connector.datasets for connector in self._connectors.values())

    def _add_connector(self, connector: Connector) -> None:
        """Add a connector; of several uses of one, that without a dataset's name is the one that is reported."""
        if not connector.datasets or connector.name not in self._connectors:
            self._connectors[connector.name] = connector

    def _writes(self, command: PlanNode) -> list[Written]:
        """Return what a command writes, by a rule or else as its connector's options say."""
        found, scope = self.context.writes(command), PlanScope(self.plan, self.catalog)
        connector = None if found else sink_of(scope, command)
        if connector is None:
            return found
        self._add_connector(connector)
        change = _CHANGES.get(command.kind) or overwriting(command.fields.get("mode"))
        guessed = (into(scope, command, dataset, change, None) for dataset in connector.datasets)
        return [written for written in guessed if written is not None]

    def _scans(self) -> tuple[tuple[frozenset[int], DatasetName], ...]:
        """Return the leaves that read exactly one dataset, to which their counters belong."""
        nodes = ((self.plan[index], found) for index, found in self._read.items() if len(found) == 1)
        return tuple((frozenset(a.id for a in node.output), found[0].key) for node, found in nodes if node is not None)

    def frame(self) -> Frame | None:
        """Return this plan's result as a frame that later plans may read; None for a truncated plan."""
        root = self.plan.root
        if root is None or self.plan.truncated is not None or self.plan.limit is not None:
            return None
        flow = self._columns().flow(root.index)
        columns = tuple(flow.columns.get(attribute.id, Lineage()) for attribute in root.output)
        return Frame(root.output, columns, flow.rows, merged(self._inputs((root.index,))))

    def with_query_columns(self, output: Dataset) -> Dataset:
        """Return ``output`` with the column lineage of the whole plan, as if the plan were written into it."""
        root = self.plan.root
        return output if root is None else self._with_columns(Written(output, root.index))

    def _inputs(self, indexes: Iterable[int]) -> list[Dataset]:
        seen: set[int] = set()
        nodes = (node for index in indexes for node in self._reachable(index, seen))
        return [dataset for node in nodes for dataset in self._reads(node)]

    def _reachable(self, index: int, seen: set[int]) -> Iterator[PlanNode]:
        """Yield the node at ``index`` and its descendants, with sub-queries and plans in fields."""
        stack = [index]
        while stack:
            index = stack.pop()
            node = None if index in seen else self.plan[index]
            seen.add(index)
            if node is not None:
                yield node
                stack.extend(reversed([*node.children, *_plans_in(node.fields)]))

    def _reads(self, node: PlanNode) -> list[Dataset]:
        known = self._read.get(node.index)
        if known is None:
            frame = self._frame(node)
            known = list(frame.inputs) if frame is not None else self.context.reads(node) or self._guessed(node)
            self._read[node.index] = known
        return known

    def _guessed(self, node: PlanNode) -> list[Dataset]:
        connector = source_of(PlanScope(self.plan, self.catalog), node)
        if connector is None:
            return []
        self._add_connector(connector)
        self._unnamed_leaves |= set() if connector.datasets else {node.index}
        return list(connector.datasets)

    def _frame(self, node: PlanNode) -> Frame | None:
        if node.kind != "LogicalRDD":
            return None
        return next((frame for frame in reversed(self.frames) if frame.matches(node)), None)

    def _columns(self) -> Columns:
        return Columns(self.plan, self._leaf, RULES, self.context.flow)

    def _with_columns(self, written: Written) -> Dataset:
        output = written.dataset
        query = None if written.query is None else self.plan[written.query]
        if query is None or self.plan.truncated is not None:
            return output
        columns = self._columns()
        flow = columns.flow(query.index) if written.columns_of is None else written.columns_of(columns)
        attributes = self._fields(query, written)
        ordered = {name.lower() for name in written.sorted_by}
        sorts = (flow.columns.get(attribute.id, NOTHING) for name, attribute in attributes if name.lower() in ordered)
        order = frozenset(source for value in sorts for source in value.through(indirect("SORT")).sources)
        made = column_facet(flow, attributes, order, self.plan.limit is None)
        self._unread += made.unread
        self._above_limits += made.above_limits
        return output.having(columnLineage=made.facet)

    def _fields(self, query: PlanNode, written: Written) -> list[tuple[str, Attribute]]:
        attached = self.context.output_fields(query)
        if attached:
            return [(name, Attribute(expr_id, name)) for name, expr_id in attached]
        return _named(query.output, written.columns)

    def _leaf(self, node: PlanNode) -> Flow | None:
        frame = self._frame(node)
        if frame is not None:
            return frame.flow(node)
        found = self._reads(node)
        if node.index in self._unnamed_leaves:
            return Flow({a.id: UNREAD for a in node.output})
        if not found:
            return None
        if node.kind in {"LogicalRDD", "ExternalRDD"}:
            return _opaque_rdd(found, node)
        query = self._sent_query(node)
        if query is not None:
            return query
        columns = {a.id: _column(found, a) for a in node.output}
        return Flow(columns, jdbc_query.predicates(self.catalog, node, columns))

    def _sent_query(self, node: PlanNode) -> Flow | None:
        relation = node.fields.get("relation")
        sent = sent_query(self.catalog, relation) if isinstance(relation, dict) else None
        query = None if sent is None else sent.query()
        return None if sent is None or query is None else jdbc_query.flow(self.catalog, node, query, sent.key_of)


def _named(output: tuple[Attribute, ...], names: tuple[str, ...] | None) -> list[tuple[str, Attribute]]:
    """Return the query's columns under their new names: by position, or by name where the numbers of columns differ."""
    visible = [attribute for attribute in output if not attribute.hidden]
    if not names:
        return [(attribute.name, attribute) for attribute in visible]
    if len(names) == len(visible):
        return list(zip(names, visible, strict=True))
    by_name = {name.lower(): name for name in names}
    return [(by_name[a.name.lower()], a) for a in visible if a.name.lower() in by_name]


def _column(found: list[Dataset], attribute: Attribute) -> Lineage:
    if attribute.hidden:
        return Lineage()  # a metadata column is the location of a row, not a source of it
    return Lineage(frozenset(Source(*dataset.key, attribute.name) for dataset in found))


def _plans_in(held: object) -> Iterator[int]:
    """Yield the index of every plan in a field's value."""
    if isinstance(held, dict):
        yield from (i for i in (plan_index(held), held.get("plan")) if isinstance(i, int))
        for value in held.values():
            yield from _plans_in(value)
    elif isinstance(held, list):
        for value in held:
            yield from _plans_in(value)


def _opaque_rdd(found: list[Dataset], node: PlanNode) -> Flow:
    """Return the flow of a frame made of an RDD: every column may depend on every known column of the RDD's files."""
    known = (node.fields.get("rdd") or {}).get("columns", ())
    every = Lineage(frozenset(Source(*d.key, column, OPAQUE) for d in found for column in known))
    return Flow({attribute.id: every for attribute in node.output})
