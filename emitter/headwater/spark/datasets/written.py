"""One dataset that a command writes, and the steps that all rules for commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..plan.columns import Columns, Flow
from ..plan.model import PlanNode, schema_fields
from . import facets
from .facets import Facet
from .names import job_suffix
from .tables import Dataset, Reading


@dataclass(frozen=True, slots=True)
class Written:
    """One dataset that a command writes or changes.

    ``query`` is the plan written into it, column by column as ``columns`` (else by the query's own names); ``sources`` are
    the plans whose leaves are its inputs; ``sorted_by`` the columns that the writer orders rows by; ``suffix`` is what it
    adds to the job's name (None: the end of its path, "": nothing); ``columns_of`` gives the column lineage of a command
    that has no query, by the ExprIds of the plan at ``query``.
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
        """The dataset's part of the job's name."""
        return job_suffix(self.dataset.key, self.suffix)


def changed(dataset: Dataset | None, change: str | None, suffix: str | None = "") -> Written | None:
    """A dataset that a command changes as a whole."""
    if dataset is None:
        return None
    return Written(dataset.having(lifecycleStateChange=lifecycle_facet(change)), suffix=suffix)


def lifecycle_facet(name: str | None) -> Facet | None:
    """The lifecycleStateChange facet, or None."""
    return None if name is None else facets.lifecycle(name)


def overwriting(mode: object) -> str | None:
    """OVERWRITE where a save mode or flag says so."""
    return "OVERWRITE" if mode == "Overwrite" or mode is True else None


def query_into(at: Reading, node: PlanNode) -> tuple[int | None, tuple[str, ...] | None, list[dict[str, Any]]]:
    """A command's query, the names that its columns get, and the schema that this gives."""
    query = at.plan.query_of(node)
    below = None if query is None else at.plan[query]
    names = node.fields.get("outputColumnNames")
    columns = tuple(names) if isinstance(names, list) else None
    return query, columns, [] if below is None else schema_fields(below.output, columns)


def into(
    at: Reading,
    node: PlanNode,
    dataset: Dataset | None,
    change: str | None,
    suffix: str | None,
    order: Iterable[str] = (),
) -> Written | None:
    """The command's query goes into ``dataset``."""
    if dataset is None:
        return None
    query, columns, _ = query_into(at, node)
    sources = () if query is None else (query,)
    told = dataset.having(lifecycleStateChange=lifecycle_facet(change))
    return Written(told, query, columns, sources, tuple(order), suffix)
