"""From a plan to what a run reads and writes, with schemas and column lineage.  Pure but for the ``Catalog`` port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from . import facets, jdbc_query
from .columns import OPAQUE, Columns, Flow
from .lineage import Lineage, Source, indirect
from .names import DatasetName
from .plan import Attribute, Plan, PlanNode
from .reads import reads
from .tables import Dataset, Reading
from .writes import Written, loaded_from, writes

MOST_COLUMNS = 1_000
"""Above so many output columns no column lineage is told (the official integration's schemaSizeLimit)."""
MOST_SOURCES = 100_000
"""Above so many sources in one facet it is left out (the official integration's limit)."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one plan tells: inputs and outputs, each dataset once; ``suffix`` is the output's part of the job's name."""

    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    suffix: str = ""

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


@dataclass(slots=True)
class Extraction:
    """The reading of one plan."""

    at: Reading
    _read: dict[int, list[Dataset]] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        return self.at.plan

    def told(self) -> Told:
        """Inputs from the leaves of what is written (or of the whole query), outputs from the root."""
        root = self.plan.root
        if root is None or root.kind == "CommandResult":
            return Told()
        written = writes(self.at, root)
        if not written:
            return Told() if root.command else Told(merged(self._inputs((root.index,))))
        inputs = [*loaded_from(root), *self._inputs(index for one in written for index in one.sources)]
        outputs = merged(self._with_columns(one) for one in written)
        return Told(merged(inputs), outputs, written[0].job_suffix if len(outputs) == 1 else "")

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
            known = self._read[node.index] = reads(self.at, node)
        return known

    def _with_columns(self, written: Written) -> Dataset:
        output = written.dataset
        query = None if written.query is None else self.plan[written.query]
        if query is None or self.plan.cut is not None or len(query.output) > MOST_COLUMNS:
            return output
        columns = Columns(self.plan, self._leaf)
        flow = columns.flow(query.index) if written.columns_of is None else written.columns_of(columns)
        attributes = _named(query.output, written.columns)
        names = tuple(name for name, _ in attributes)
        told = [flow.columns.get(attribute.id, Lineage()) for _, attribute in attributes]
        if sum(len(one.sources) for one in told) > MOST_SOURCES:
            return output
        ordered = {name.lower() for name in written.sorted_by}
        order = {s for n, one in zip(names, told, strict=True) if n.lower() in ordered for s in _sorting(one)}
        fields = ((name, one.sources) for name, one in zip(names, told, strict=True))
        return output.having(columnLineage=facets.column_lineage(fields, flow.rows | order))

    def _leaf(self, node: PlanNode) -> Flow | None:
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
        prefix = whole[: len(whole) - len(_first_table(self.at, table))]
        return jdbc_query.flow(self.at.catalog, node, found[0].namespace, prefix, table)


def _named(output: tuple[Attribute, ...], names: tuple[str, ...] | None) -> list[tuple[str, Attribute]]:
    """The query's columns under the names that they get: by place, or by name where the query has more than the table."""
    shown = [attribute for attribute in output if not attribute.hidden]
    if not names:
        return [(attribute.name, attribute) for attribute in shown]
    if len(names) == len(shown):
        return list(zip(names, shown, strict=True))
    wanted = {name.lower(): name for name in names}
    return [(wanted[one.name.lower()], one) for one in shown if one.name.lower() in wanted]


def _first_table(at: Reading, table: str) -> str:
    named = jdbc_query.tables_of(at.catalog, table)
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


def merged(datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
    """Each dataset once, its facets united, a later one replacing an earlier of the same name (SPEC 1.6)."""
    kept: dict[DatasetName, Dataset] = {}
    for one in datasets:
        before = kept.get(one.key)
        if before is not None:
            both = {**before.facets, **one.facets}
            one = replace(one, facets=both, run_facets={**before.run_facets, **one.run_facets})
        kept[one.key] = one
    return tuple(kept.values())
