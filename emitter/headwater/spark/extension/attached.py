"""The lineage that libraries attach to plan nodes: lookup of their node classes, calls, and delegates."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..datasets.tables import Dataset
from ..plan.columns import Columns, Flow, together
from ..plan.expressions import lineage
from ..plan.lineage import NOTHING, TRANSFORMATION, Lineage, Source, union
from ..plan.model import expression, plan_index
from .conversion import as_facets
from .nodes import ColumnLevelLineageNode, InputLineageNode, OutputLineageNode
from .reported import reported_node
from .views import LogicalPlan

logger = logging.getLogger("headwater.spark")

Resolve = Callable[[LogicalPlan], list[Dataset]]
"""A function that returns the datasets of the node that a delegate names."""


@dataclass(slots=True)
class AttachedNodes:
    """The node classes of libraries by JVM class; the first fault of each JVM class is logged."""

    classes: Mapping[str, type] = field(default_factory=dict)
    context: Any = None
    _failed: set[str] = field(default_factory=set)

    def of(self, view: LogicalPlan) -> Any:
        """Return the library's object for a node, or None."""
        made = self.classes.get(view.class_name) or self.classes.get(view.node.kind)
        if made is not None:
            return self._called(view, lambda: made(view))
        return _python_source(view) if view.node.lineage is None else reported_node(view.node.lineage)

    def _called(self, view: LogicalPlan, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as fault:  # noqa: BLE001 - a library's code may raise anything, and must not cost the job's other lineage
            if view.class_name not in self._failed:
                self._failed.add(view.class_name)
                logger.warning("the lineage attached to %s is left out: %s", view.class_name, fault)
            return None

    def inputs(self, view: LogicalPlan, resolve: Resolve) -> list[Dataset] | None:
        """Return the inputs that a library attached to a node; None where it attached nothing."""
        node = self.of(view)
        read = node.get_inputs if isinstance(node, InputLineageNode) else None
        return self._datasets(view, read, resolve, "input_facets")

    def outputs(self, view: LogicalPlan, resolve: Resolve) -> list[Dataset] | None:
        """Return the outputs that a library attached to a node; None where it attached nothing."""
        node = self.of(view)
        read = node.get_outputs if isinstance(node, OutputLineageNode) else None
        return self._datasets(view, read, resolve, "output_facets")

    def _datasets(
        self, view: LogicalPlan, read: Callable[[Any], Iterable[Any]] | None, resolve: Resolve, container: str
    ) -> list[Dataset] | None:
        if read is None:
            return None
        found = self._called(view, lambda: list(read(self.context)))
        return [dataset for entry in found or () for dataset in _datasets(entry, view, resolve, container)]

    def flow(self, columns: Columns, view: LogicalPlan) -> Flow | None:
        """Return the column lineage that a library attached to a node; None where it attached nothing."""
        node = self.of(view)
        if not isinstance(node, ColumnLevelLineageNode):
            return None
        below = together(columns.flow(child) for child in view.node.children)
        fields = self._called(view, lambda: list(node.column_level_lineage_inputs(self.context))) or ()
        known = {**below.columns, **_delegated(columns, view, fields), **_input_fields(fields)}
        made: dict[int, list[Lineage]] = {}
        for entry in self._called(view, lambda: list(node.column_level_lineage_dependencies(self.context))) or ():
            made.setdefault(_id(entry.output_expr_id), []).append(_dependency(columns, known, entry))
        all_columns = {**known, **{key: union(several) for key, several in made.items()}}
        return Flow(all_columns, below.rows)

    def output_fields(self, view: LogicalPlan) -> list[tuple[str, int]] | None:
        """Return the names and ExprIds of the output fields that a library attached to a node."""
        node = self.of(view)
        if not isinstance(node, ColumnLevelLineageNode):
            return None
        fields = self._called(view, lambda: list(node.column_level_lineage_outputs(self.context))) or ()
        return [found for field in fields for found in self._named(field, view)]

    def _named(self, field: Any, view: LogicalPlan) -> list[tuple[str, int]]:
        """Return the name and ExprId of an output field; of a delegate those of its own output fields, or of its columns."""
        if hasattr(field, "expr_id"):
            return [(str(field.field), _id(field.expr_id))]
        delegate = getattr(field, "delegate", None)
        named = expression(delegate) if isinstance(delegate, Mapping) and "e" in delegate else None
        if named is not None:
            return [] if named.id is None else [(str(named.name), named.id)]
        held = _view(delegate, view)
        if held is None or held.node.index == view.node.index:
            return []
        attached = self.output_fields(held)
        return attached or [(attribute.name, attribute.id) for attribute in held.output if not attribute.hidden]


def _id(held: Any) -> int:
    return int(getattr(held, "expr_id", held))


def _delegated(columns: Columns, view: LogicalPlan, fields: Iterable[Any]) -> dict[int, Lineage]:
    """Return the lineage of the columns of the nodes that fields are delegated to, wherever these are in the plan."""
    nodes = (_view(getattr(field, "delegate", None), view) for field in fields)
    found = [node for node in nodes if node is not None and node.node.index != view.node.index]
    return {key: value for node in found for key, value in columns.flow(node.node.index).columns.items()}


def _input_fields(fields: Iterable[Any]) -> dict[int, Lineage]:
    """Return the lineage of named fields."""
    named = [(field, field.identifier) for field in fields if hasattr(field, "identifier")]
    return {
        _id(field.expr_id): Lineage(frozenset({Source(key.namespace, key.name, str(field.field))}))
        for field, key in named
    }


def _dependency(columns: Columns, known: Mapping[int, Lineage], entry: Any) -> Lineage:
    if hasattr(entry, "input_expr_ids"):
        parts = [known.get(_id(expr_id), NOTHING) for expr_id in entry.input_expr_ids]
        return union(parts).through(TRANSFORMATION) if len(parts) > 1 else union([NOTHING, *parts])
    return lineage(expression(entry.expression), columns.scope(Flow(known)))


def _datasets(entry: Any, view: LogicalPlan, resolve: Resolve, container: str) -> list[Dataset]:
    facets, run_facets = as_facets(getattr(entry, "facets", {})), as_facets(getattr(entry, container, {}))
    identifier = getattr(entry, "identifier", None)
    if identifier is not None:
        return [Dataset(str(identifier.namespace), str(identifier.name), facets, run_facets)]
    node = _view(getattr(entry, "node", None), view)
    found = [] if node is None or node.node.index == view.node.index else resolve(node)
    return [replace(d, facets={**d.facets, **facets}, run_facets={**d.run_facets, **run_facets}) for d in found]


def _view(held: Any, view: LogicalPlan) -> LogicalPlan | None:
    if isinstance(held, LogicalPlan):
        return held
    index = held if isinstance(held, int) else plan_index(held)
    return None if index is None else view.at(index)


def _python_source(view: LogicalPlan) -> Any:
    """Return a new instance of the Python data source of a relation, with the options of the read or write."""
    table = view.fields.get("table")
    held = view.field("table")
    fields = view.fields if held is None else held.fields
    table = fields.get("table") if held is not None else table
    if not isinstance(table, Mapping) or not str(table.get("class", "")).endswith("PythonTable"):
        return None
    name = str(table.get("name", "")).lower()
    options = {str(k): str(v) for k, v in (fields.get("options") or {}).items()}
    found = next((source for source in _sources() if source.name().lower() == name), None)
    return None if found is None else found(options)


def _sources() -> list[Any]:
    try:
        from pyspark.sql.datasource import DataSource
    except ImportError:  # Spark 3.5 has no Python data sources
        return []
    found: list[Any] = []
    stack: list[Any] = [DataSource]
    while stack:
        stack.extend(stack.pop().__subclasses__())
        found = list(dict.fromkeys([*found, *stack]))
    return found
