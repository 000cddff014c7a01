"""The dataset that a command writes, and the steps that all rules for commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..plan.columns import Columns, Flow
from ..plan.model import PlanNode, schema_fields
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


def changed(dataset: Dataset | None, change: str | None, suffix: str | None = "") -> Written | None:
    """Return a dataset that a command changes as a whole; None without a dataset."""
    if dataset is None:
        return None
    return Written(dataset.having(lifecycleStateChange=facets.lifecycle(change)), suffix=suffix)


def overwriting(mode: object) -> str | None:
    """Return OVERWRITE if a save mode or flag says so, else None."""
    return "OVERWRITE" if mode == "Overwrite" or mode is True else None


def query_into(at: PlanScope, node: PlanNode) -> tuple[int | None, tuple[str, ...] | None, list[dict[str, Any]]]:
    """Return a command's query, the new names of its columns, and the resulting schema."""
    query = at.plan.query_of(node)
    below = None if query is None else at.plan[query]
    names = node.fields.get("outputColumnNames")
    columns = tuple(names) if isinstance(names, list) else None
    return query, columns, [] if below is None else schema_fields(below.output, columns)


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
    query, columns, _ = query_into(at, node)
    sources = () if query is None else (query,)
    dataset = dataset.having(lifecycleStateChange=facets.lifecycle(change))
    return Written(dataset, query, columns, sources, tuple(order), suffix)
