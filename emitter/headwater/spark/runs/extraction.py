"""From a plan to what a run reads and writes, with schemas and column lineage.  Pure but for the ``Catalog`` port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..datasets import facets, jdbc_query
from ..datasets.names import DatasetName
from ..datasets.tables import Catalog, Dataset, merged
from ..datasets.writes import Written, loaded_from
from ..plan.columns import OPAQUE, Columns, Flow
from ..plan.lineage import Lineage, Source, indirect
from ..plan.model import Attribute, Plan, PlanNode
from ..plan.node_rules import RULES
from .plan_context import PlanKnowledge

MOST_COLUMNS = 1_000
"""Above so many output columns no column lineage is told (the official integration's schemaSizeLimit)."""
MOST_SOURCES = 100_000
"""Above so many sources in one facet it is left out (the official integration's limit)."""


# Commands whose query is read even where it is not known what they write (`noop`, a sink of a library).
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


@dataclass(frozen=True, slots=True)
class Told:
    """What one plan tells: inputs and outputs, each dataset once.

    ``suffix`` is the output's part of the job's name; ``scans`` says which leaf columns (by ExprId) are which input's;
    ``missing`` why something is left out (a limit that was met), or is None.
    """

    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    suffix: str = ""
    scans: tuple[tuple[frozenset[int], DatasetName], ...] = ()
    missing: str | None = None

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose making is known apart from the plan that uses it: a checkpoint, the batch given to foreachBatch."""

    output: tuple[Attribute, ...]
    columns: tuple[Lineage, ...]
    rows: frozenset[Source]
    inputs: tuple[Dataset, ...]

    def is_behind(self, node: PlanNode) -> bool:
        """Whether a leaf stands for this frame: the same columns, by ExprId or at least by name and type."""
        if len(node.output) != len(self.output):
            return False
        pairs = list(zip(node.output, self.output, strict=True))
        return all(a.id == b.id for a, b in pairs) or all(a.name == b.name and a.type == b.type for a, b in pairs)

    def flow(self, node: PlanNode) -> Flow:
        """The leaf's columns by the leaf's own ExprIds."""
        return Flow({a.id: one for a, one in zip(node.output, self.columns, strict=True)}, self.rows)


@dataclass(slots=True)
class Extraction:
    """The reading of one plan; ``frames`` are known from earlier ones, newest last."""

    plan: Plan
    known: PlanKnowledge
    frames: Sequence[Frame] = ()
    _read: dict[int, list[Dataset]] = field(default_factory=dict)

    @property
    def catalog(self) -> Catalog:
        """The catalogs behind the plan."""
        return self.known.knowledge.catalog

    def told(self) -> Told:
        """Inputs from the leaves of what is written (or of the whole query), outputs from the root."""
        root = self.plan.root
        if root is None or root.kind == "CommandResult":
            return Told()
        commands = self.plan.commands()
        written = [one for command in commands for one in self.known.writes(command)]
        if not written:
            reads = not commands or root.kind in _WRITES_A_QUERY
            found = merged(self._inputs((root.index, *self.plan.leaves))) if reads else ()
            return Told(found, scans=self._scans(), missing=self._missing([])) if found else Told()
        sources = [index for one in written for index in one.sources]
        inputs = [*loaded_from(root), *self._inputs([*sources, *(self.plan.leaves if sources else ())])]
        outputs = merged(self._with_columns(one) for one in written)
        suffix = written[0].job_suffix if len(outputs) == 1 else ""
        return Told(merged(inputs), outputs, suffix, self._scans(), self._missing(written))

    def _missing(self, written: list[Written]) -> str | None:
        if self.plan.cut is not None:
            return f"the plan is above a limit of {self.plan.cut}: no column lineage, and inputs of sub-queries may be missing"
        for one in written:
            query = None if one.query is None else self.plan[one.query]
            if query is not None and len(query.output) > MOST_COLUMNS:
                return f"no column lineage above {MOST_COLUMNS} columns"
        return None

    def _scans(self) -> tuple[tuple[frozenset[int], DatasetName], ...]:
        """Leaves that read one dataset: only their counters can be put to it."""
        nodes = ((self.plan[index], found) for index, found in self._read.items() if len(found) == 1)
        return tuple((frozenset(a.id for a in node.output), found[0].key) for node, found in nodes if node is not None)

    def frame(self) -> Frame | None:
        """This plan's result as a frame that later plans may start from."""
        root = self.plan.root
        if root is None or self.plan.cut is not None:
            return None
        flow = self._columns().flow(root.index)
        columns = tuple(flow.columns.get(attribute.id, Lineage()) for attribute in root.output)
        return Frame(root.output, columns, flow.rows, merged(self._inputs((root.index,))))

    def with_query_columns(self, output: Dataset) -> Dataset:
        """``output`` with the column lineage of the whole plan, as if the plan were written into it."""
        root = self.plan.root
        return output if root is None else self._with_columns(Written(output, root.index))

    def _inputs(self, indexes: Iterable[int]) -> list[Dataset]:
        seen: set[int] = set()
        return [one for index in indexes for node in self._reachable(index, seen) for one in self._reads(node)]

    def _reachable(self, index: int, seen: set[int]) -> Iterator[PlanNode]:
        """The nodes from ``index`` down: children, sub-queries and plans held in fields."""
        stack = [index]
        while stack:
            index = stack.pop()
            node = None if index in seen else self.plan[index]
            seen.add(index)
            if node is not None:
                yield node
                stack.extend(reversed([*node.children, *_held_plans(node.fields)]))

    def _reads(self, node: PlanNode) -> list[Dataset]:
        known = self._read.get(node.index)
        if known is None:
            frame = self._frame(node)
            known = list(frame.inputs) if frame is not None else self.known.reads(node)
            self._read[node.index] = known
        return known

    def _frame(self, node: PlanNode) -> Frame | None:
        if node.kind != "LogicalRDD":
            return None
        return next((frame for frame in reversed(self.frames) if frame.is_behind(node)), None)

    def _columns(self) -> Columns:
        return Columns(self.plan, self._leaf, RULES, self.known.flow)

    def _with_columns(self, written: Written) -> Dataset:
        output = written.dataset
        query = None if written.query is None else self.plan[written.query]
        if query is None or self.plan.cut is not None or len(query.output) > MOST_COLUMNS:
            return output
        columns = self._columns()
        flow = columns.flow(query.index) if written.columns_of is None else written.columns_of(columns)
        attributes = self._fields(query, written)
        names = tuple(name for name, _ in attributes)
        told = [flow.columns.get(attribute.id, Lineage()) for _, attribute in attributes]
        if sum(len(one.sources) for one in told) > MOST_SOURCES:
            return output
        ordered = {name.lower() for name in written.sorted_by}
        order = {s for n, one in zip(names, told, strict=True) if n.lower() in ordered for s in _sorting(one)}
        fields = ((name, one.sources) for name, one in zip(names, told, strict=True))
        return output.having(columnLineage=facets.column_lineage(fields, flow.rows | order))

    def _fields(self, query: PlanNode, written: Written) -> list[tuple[str, Attribute]]:
        attached = self.known.output_fields(query)
        if attached:
            return [(name, Attribute(expr_id, name)) for name, expr_id in attached]
        return _named(query.output, written.columns)

    def _leaf(self, node: PlanNode) -> Flow | None:
        frame = self._frame(node)
        if frame is not None:
            return frame.flow(node)
        found = self._reads(node)
        if not found:
            return None
        if node.kind in {"LogicalRDD", "ExternalRDD"}:
            return _opaque_rdd(found, node)
        query = self._jdbc_query(node, found)
        if query is not None:
            return query
        return Flow({a.id: _column(found, a) for a in node.output})

    def _jdbc_query(self, node: PlanNode, found: list[Dataset]) -> Flow | None:
        relation = node.fields.get("relation")
        if not isinstance(relation, dict) or relation.get("$") != "jdbc":
            return None
        table = str(relation["table"])
        if jdbc_query.query_of(table) is None:
            return None
        whole = found[0].name
        prefix = whole[: len(whole) - len(_first_table(self.catalog, table))]
        return jdbc_query.flow(self.catalog, node, found[0].namespace, prefix, table)


def _named(output: tuple[Attribute, ...], names: tuple[str, ...] | None) -> list[tuple[str, Attribute]]:
    """The query's columns under the names that they get: by place, or by name where the query has more than the table."""
    shown = [attribute for attribute in output if not attribute.hidden]
    if not names:
        return [(attribute.name, attribute) for attribute in shown]
    if len(names) == len(shown):
        return list(zip(names, shown, strict=True))
    wanted = {name.lower(): name for name in names}
    return [(wanted[one.name.lower()], one) for one in shown if one.name.lower() in wanted]


def _first_table(catalog: Catalog, table: str) -> str:
    named = jdbc_query.tables_of(catalog, table)
    return named[0] if named else table


def _column(found: list[Dataset], attribute: Attribute) -> Lineage:
    if attribute.hidden:
        return Lineage()  # a metadata column tells where a row lies, not what it is made of
    return Lineage(frozenset(Source(one.namespace, one.name, attribute.name) for one in found))


def _sorting(one: Lineage) -> frozenset[Source]:
    return one.through(indirect("SORT")).sources


def _held_plans(held: object) -> Iterator[int]:
    """Every plan that stands somewhere in a field's value."""
    if isinstance(held, dict):
        if "$plan" in held:
            yield int(held["$plan"])
        if isinstance(held.get("plan"), int):
            yield held["plan"]
        for value in held.values():
            yield from _held_plans(value)
    elif isinstance(held, list):
        for value in held:
            yield from _held_plans(value)


def _opaque_rdd(found: list[Dataset], node: PlanNode) -> Flow:
    """A frame made of an RDD: its columns may come from any column that the RDD's files are known to have."""
    known = (node.fields.get("rdd") or {}).get("columns", ())
    every = Lineage(frozenset(Source(d.namespace, d.name, column, OPAQUE) for d in found for column in known))
    return Flow({attribute.id: every for attribute in node.output})
