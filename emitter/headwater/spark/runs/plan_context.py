"""The lineage of plan nodes, from headwater's own rules, libraries' visitors, and what libraries attach to nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..datasets.tables import Catalog, Dataset
from ..datasets.writes import Written
from ..extension.attached import AttachedNodes
from ..extension.conversion import as_dataset
from ..extension.loading import Extensions
from ..extension.views import LogicalPlan, logical_plan
from ..plan.columns import Columns, Flow
from ..plan.model import Plan, PlanNode


@dataclass(slots=True)
class PlanReaders:
    """What reads the plans of one application: its catalogs, its extensions, and libraries' node classes."""

    catalog: Catalog
    extensions: Extensions
    attached: AttachedNodes = field(default_factory=AttachedNodes)

    def of(self, plan: Plan, java: Callable[[int], Any] | None = None) -> PlanContext:
        """Return the context of one plan."""
        return PlanContext(self, plan, java)


@dataclass(slots=True)
class PlanContext:
    """The datasets and columns of one plan's nodes; ``java`` returns the py4j reference of a node by its index."""

    readers: PlanReaders
    plan: Plan
    java: Callable[[int], Any] | None = None
    _visiting: set[int] = field(default_factory=set)

    def view(self, node: PlanNode) -> LogicalPlan:
        """Return the node's view, as builders receive it."""
        return logical_plan(self.plan, node, self.java)

    def reads(self, node: PlanNode) -> list[Dataset]:
        """Return the datasets that a node reads itself."""
        return self._inputs(self.view(node))

    def _inputs(self, view: LogicalPlan) -> list[Dataset]:
        if view.node.index in self._visiting:
            return []  # delegates that refer to each other
        self._visiting.add(view.node.index)
        try:
            attached = self.readers.attached.inputs(view, self._inputs)
            if attached is not None:
                return attached
            extensions = self.readers.extensions
            visitors = extensions.context.input_dataset_query_plan_visitors
            return [as_dataset(found) for found in extensions.datasets(visitors, view)]
        finally:
            self._visiting.discard(view.node.index)

    def writes(self, node: PlanNode) -> list[Written]:
        """Return the datasets that a command writes, with the queries written into them."""
        view = self.view(node)
        found: list[Any] | None = self.readers.attached.outputs(view, self._outputs)
        if found is None:
            extensions = self.readers.extensions
            found = extensions.datasets(extensions.context.output_dataset_query_plan_visitors, view)
        return [w if isinstance(w, Written) else self._written(node, as_dataset(w)) for w in found]

    def _outputs(self, view: LogicalPlan) -> list[Dataset]:
        """Return the datasets of an output's delegate: a command's outputs, or the table of a relation."""
        return [written.dataset for written in self.writes(view.node)] or self._inputs(view)

    def _written(self, node: PlanNode, dataset: Dataset) -> Written:
        query = self.plan.query_of(node)
        sources = (query,) if query is not None else node.children
        return replace(Written(dataset), query=query, sources=sources)

    def flow(self, columns: Columns, node: PlanNode) -> Flow | None:
        """Return the column lineage that a library attached to a node, or None."""
        return self.readers.attached.flow(columns, self.view(node))

    def output_fields(self, node: PlanNode) -> list[tuple[str, int]] | None:
        """Return the output fields that a library attached to a node, or None."""
        return self.readers.attached.output_fields(self.view(node))
