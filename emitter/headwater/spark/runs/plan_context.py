"""All that is known about plan nodes: headwater's own rules, libraries' visitors, and what libraries attach to nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..datasets.tables import Catalog, Dataset
from ..datasets.writes import Written
from ..extension.attached import Attached
from ..extension.conversion import as_dataset
from ..extension.loading import Extensions
from ..extension.views import LogicalPlan, logical_plan
from ..plan.columns import Columns, Flow
from ..plan.model import Plan, PlanNode


@dataclass(slots=True)
class Knowledge:
    """What one application's plans are read by."""

    catalog: Catalog
    extensions: Extensions
    attached: Attached = field(default_factory=Attached)

    def of(self, plan: Plan, java: Callable[[int], Any] | None = None) -> PlanKnowledge:
        """The same for one plan."""
        return PlanKnowledge(self, plan, java)


@dataclass(slots=True)
class PlanKnowledge:
    """What is known about the nodes of one plan."""

    knowledge: Knowledge
    plan: Plan
    java: Callable[[int], Any] | None = None
    _asking: set[int] = field(default_factory=set)

    def view(self, node: PlanNode) -> LogicalPlan:
        """The node as builders see it."""
        return logical_plan(self.plan, node, self.java)

    def reads(self, node: PlanNode) -> list[Dataset]:
        """The datasets that a node reads itself."""
        return self._inputs(self.view(node))

    def _inputs(self, view: LogicalPlan) -> list[Dataset]:
        if view.node.index in self._asking:
            return []  # a delegate that leads back to where it came from
        self._asking.add(view.node.index)
        try:
            told = self.knowledge.attached.inputs(view, self._inputs)
            if told is not None:
                return told
            context = self.knowledge.extensions.context
            found = self.knowledge.extensions.datasets(context.input_dataset_query_plan_visitors, view)
            return [as_dataset(one) for one in found]
        finally:
            self._asking.discard(view.node.index)

    def writes(self, node: PlanNode) -> list[Written]:
        """The datasets that a command writes, with the queries that go into them."""
        view = self.view(node)
        told = self.knowledge.attached.outputs(view, self._outputs)
        context = self.knowledge.extensions.context
        found: list[Any] = list(told or ())
        if told is None:
            found = self.knowledge.extensions.datasets(context.output_dataset_query_plan_visitors, view)
        return [one if isinstance(one, Written) else self._written(node, as_dataset(one)) for one in found]

    def _outputs(self, view: LogicalPlan) -> list[Dataset]:
        """A delegate of an output: a command's own output, or the table that a relation stands for."""
        return [one.dataset for one in self.writes(view.node)] or self._inputs(view)

    def _written(self, node: PlanNode, dataset: Dataset) -> Written:
        query = self.plan.query_of(node)
        sources = (query,) if query is not None else node.children
        return replace(Written(dataset), query=query, sources=sources)

    def flow(self, columns: Columns, node: PlanNode) -> Flow | None:
        """A node's columns by what a library attached to it."""
        return self.knowledge.attached.flow(columns, self.view(node))

    def output_fields(self, node: PlanNode) -> list[tuple[str, int]] | None:
        """A node's output fields by what a library attached to it."""
        return self.knowledge.attached.output_fields(self.view(node))
