"""The dataset that a command writes, and the steps that all rules for commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..plan.columns import Columns, Flow
from ..plan.model import Fields, PlanNode, schema_fields
from . import facets
from .names import job_suffix
from .tables import Dataset, PlanScope


@dataclass(frozen=True, slots=True)
class Written:
    """A dataset that a command writes or changes.

    ``query`` is the plan written into it, whose columns are named ``columns`` (else as in the query); ``sources`` are the
    plans whose leaves are its inputs; ``sorted_by`` the columns that the writer orders rows by; ``suffix`` is its part of
    the job's name (None: the end of its path, "": nothing); ``columns_of`` returns the column lineage of a command
    without a query, by the ExprIds of the plan at ``query``.
    """

    dataset: Dataset
    query: int | None = None
    columns: tuple[str, ...] | None = None
    sources: tuple[int, ...] = ()
    sorted_by: tuple[str, ...] = ()
    suffix: str | None = None
    columns_of: Callable[[Columns], Flow] | None = None

    @property
    def job_suffix(self) -> str:
        """Return the dataset's part of the job's name."""
        return job_suffix(self.dataset.key, self.suffix)


WriteRule = Callable[[PlanScope, PlanNode], Written | None]
"""A function that returns what a command writes; None where it writes nothing that is known."""


def changed(dataset: Dataset | None, change: str | None, suffix: str | None = "") -> Written | None:
    """Return a dataset that a command changes as a whole; None without a dataset."""
    if dataset is None:
        return None
    return Written(dataset.having(lifecycleStateChange=facets.lifecycle(change)), suffix=suffix)


def overwriting(mode: object) -> str | None:
    """Return OVERWRITE if a save mode or flag says so, else None."""
    return "OVERWRITE" if mode == "Overwrite" or mode is True else None


def written_fields(at: PlanScope, node: PlanNode) -> Fields:
    """Return the schema that a command's query results in, under the new names of its columns."""
    query = at.plan.query_of(node)
    below = None if query is None else at.plan[query]
    return [] if below is None else schema_fields(below.output, _new_names(node))


def _new_names(node: PlanNode) -> tuple[str, ...] | None:
    names = node.fields.get("outputColumnNames")
    return tuple(names) if isinstance(names, list) else None


def into(
    at: PlanScope,
    node: PlanNode,
    dataset: Dataset | None,
    change: str | None,
    suffix: str | None,
    order: Iterable[str] = (),
) -> Written | None:
    """Return ``dataset`` as written by the command's query; None without a dataset."""
    if dataset is None:
        return None
    query = at.plan.query_of(node)
    sources = () if query is None else (query,)
    dataset = dataset.having(lifecycleStateChange=facets.lifecycle(change))
    return Written(dataset, query, _new_names(node), sources, tuple(order), suffix)
