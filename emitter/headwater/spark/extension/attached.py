"""Carrying out what libraries attach to plan nodes: finding it, asking it, following its delegates."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..datasets.tables import Dataset
from ..plan.columns import Columns, Flow
from ..plan.expressions import lineage
from ..plan.lineage import NOTHING, TRANSFORMATION, Lineage, Source, united
from ..plan.model import expression
from .conversion import as_facets
from .nodes import ColumnLevelLineageNode, InputLineageNode, OutputLineageNode
from .views import LogicalPlan

logger = logging.getLogger("headwater.spark")

Resolve = Callable[[LogicalPlan], list[Dataset]]


@dataclass(slots=True)
class Attached:
    """The node classes of libraries, by the JVM class that they belong to; each fault is told once."""

    classes: Mapping[str, type] = field(default_factory=dict)
    context: Any = None
    _told: set[str] = field(default_factory=set)

    def of(self, view: LogicalPlan) -> Any:
        """The library's object for a node, or None."""
        made = self.classes.get(view.class_name) or self.classes.get(view.node.kind)
        if made is not None:
            return self._asked(view, lambda: made(view))
        source = _python_source(view)
        return None if source is None else self._asked(view, lambda: source)

    def _asked(self, view: LogicalPlan, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except Exception as fault:  # noqa: BLE001 - a library's code may raise anything, and must not cost the job's other lineage
            if view.class_name not in self._told:
                self._told.add(view.class_name)
                logger.warning("the lineage attached to %s is left out: %s", view.class_name, fault)
            return None

    def inputs(self, view: LogicalPlan, resolve: Resolve) -> list[Dataset] | None:
        """What a node reads by its library's word; None where nothing is attached."""
        node = self.of(view)
        if not isinstance(node, InputLineageNode):
            return None
        found = self._asked(view, lambda: list(node.get_inputs(self.context)))
        return [one for told in found or () for one in _datasets(told, view, resolve, "input_facets")]

    def outputs(self, view: LogicalPlan, resolve: Resolve) -> list[Dataset] | None:
        """What a node writes by its library's word; None where nothing is attached."""
        node = self.of(view)
        if not isinstance(node, OutputLineageNode):
            return None
        found = self._asked(view, lambda: list(node.get_outputs(self.context)))
        return [one for told in found or () for one in _datasets(told, view, resolve, "output_facets")]

    def flow(self, columns: Columns, view: LogicalPlan) -> Flow | None:
        """A node's columns by its library's word; None where nothing is attached."""
        node = self.of(view)
        if not isinstance(node, ColumnLevelLineageNode):
            return None
        below = [columns.flow(child) for child in view.node.children]
        known = {key: one for flow in below for key, one in flow.columns.items()}
        known |= _input_fields(self._asked(view, lambda: list(node.column_level_lineage_inputs(self.context))) or ())
        made: dict[int, list[Lineage]] = {}
        for told in self._asked(view, lambda: list(node.column_level_lineage_dependencies(self.context))) or ():
            made.setdefault(_id(told.output_expr_id), []).append(_dependency(columns, known, told))
        all_columns = {**known, **{key: united(several) for key, several in made.items()}}
        return Flow(all_columns, frozenset(s for flow in below for s in flow.rows))

    def output_fields(self, view: LogicalPlan) -> list[tuple[str, int]] | None:
        """A node's output fields by name and ExprId, where its library tells them."""
        node = self.of(view)
        if not isinstance(node, ColumnLevelLineageNode):
            return None
        told = self._asked(view, lambda: list(node.column_level_lineage_outputs(self.context))) or ()
        return [(str(one.field), _id(one.expr_id)) for one in told if hasattr(one, "expr_id")]


def _id(held: Any) -> int:
    return int(getattr(held, "expr_id", held))


def _input_fields(told: Iterable[Any]) -> dict[int, Lineage]:
    """Fields that are named; those of a delegate are known from the plan below already."""
    named = [one for one in told if hasattr(one, "identifier")]
    return {
        _id(one.expr_id): Lineage(frozenset({Source(one.identifier.namespace, one.identifier.name, str(one.field))}))
        for one in named
    }


def _dependency(columns: Columns, known: Mapping[int, Lineage], told: Any) -> Lineage:
    if hasattr(told, "input_expr_ids"):
        parts = [known.get(_id(one), NOTHING) for one in told.input_expr_ids]
        return united(parts).through(TRANSFORMATION) if len(parts) > 1 else united([NOTHING, *parts])
    return lineage(expression(told.expression), columns.scope(Flow(known)))


def _datasets(told: Any, view: LogicalPlan, resolve: Resolve, container: str) -> list[Dataset]:
    facets, run_facets = as_facets(getattr(told, "facets", {})), as_facets(getattr(told, container, {}))
    identifier = getattr(told, "identifier", None)
    if identifier is not None:
        return [Dataset(str(identifier.namespace), str(identifier.name), facets, run_facets)]
    node = _view(getattr(told, "node", None), view)
    found = [] if node is None or node.node.index == view.node.index else resolve(node)
    return [replace(one, facets={**one.facets, **facets}, run_facets={**one.run_facets, **run_facets}) for one in found]


def _view(held: Any, view: LogicalPlan) -> LogicalPlan | None:
    if isinstance(held, LogicalPlan):
        return held
    if isinstance(held, Mapping) and "$plan" in held:
        return view.at(int(held["$plan"]))
    return view.at(held) if isinstance(held, int) else None


def _python_source(view: LogicalPlan) -> Any:
    """The Python data source behind a relation, made anew with the read's or write's options."""
    table = view.fields.get("table")
    held = view.field("table")
    fields = view.fields if held is None else held.fields
    table = fields.get("table") if held is not None else table
    if not isinstance(table, Mapping) or not str(table.get("class", "")).endswith("PythonTable"):
        return None
    name = str(table.get("name", "")).lower()
    options = {str(k): str(v) for k, v in (fields.get("options") or {}).items()}
    found = next((one for one in _sources() if one.name().lower() == name), None)
    return None if found is None else found(options)


def _sources() -> list[Any]:
    try:
        from pyspark.sql.datasource import DataSource
    except ImportError:  # Spark 3.5 has none
        return []
    found: list[Any] = []
    stack: list[Any] = [DataSource]
    while stack:
        stack.extend(stack.pop().__subclasses__())
        found = list(dict.fromkeys([*found, *stack]))
    return found
