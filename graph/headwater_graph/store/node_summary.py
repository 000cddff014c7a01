"""The summary of a job or dataset: one text on the node that holds what an answer shows of it.

Theory of operation. Reading one text takes a third of the time of reading the node, its current version and its last run. A
summary has the content that the questions ``job_marks`` and ``dataset_marks`` return for the node, as JSON, because the driver
transfers one text faster than a list of texts and msgspec decodes all of them in one call. The server alone computes it, by
``cypher/fragments/job_summary.cypher`` and ``dataset_summary.cypher``, at the end of each transaction that wrote something
that it depends on (``AFFECTED_NODES``); so it describes the node after each commit. It is a copy: a node may lack it, and
readers use those two questions then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from headwater_graph.model.values import Row


class NodeSummary(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The kind, key and name of a node, whether it is a dataset with aliases, its marks and its facts.

    ``marks`` is None for a node without a summary: the question returns only what comes before them.
    """

    kind: Literal["dataset", "job"]
    key: str
    name: tuple[str, str]
    aliased: bool
    marks: tuple[str, ...] | None = None
    facts: dict[str, Any] = {}


_SUMMARIES = msgspec.json.Decoder(list[NodeSummary])


def summaries_of(texts: Iterable[str]) -> list[NodeSummary]:
    """Return the summaries that these texts hold."""
    return _SUMMARIES.decode(f"[{','.join(texts)}]")


AFFECTED_NODES: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("job", "key", "key"): ("upsert_jobs", "upsert_named_jobs"),
    ("job", "key", "job"): ("link_current_job_versions", "upsert_job_versions"),
    ("job", "version", "id"): (
        "set_added_runs",
        "set_run_counts",
        "set_last_runs",
        "set_removed_run_counts",
        "set_retained_runs",
    ),
    ("job", "version", "version"): ("set_last_run_states",),
    ("dataset", "key", "key"): ("upsert_datasets", "upsert_named_datasets", "link_aliases", "unlink_aliases"),
    ("dataset", "key", "alias"): ("link_aliases", "unlink_aliases"),
    ("dataset", "key", "dataset"): ("link_current_dataset_versions", "upsert_dataset_versions", "set_dropped"),
    ("dataset", "version", "id"): ("set_unmade_dataset_versions",),
}
"""The writes that affect a node's summary, by (kind, whether ``key`` or ``version`` identifies the node, member of a row).

Deleting a version is not among them: it is not current any more, or ``link_current_…`` follows in the same transaction.
"""


@dataclass(slots=True)
class AffectedNodes:
    """The jobs and datasets whose summary has to be computed again, by (kind, ``key`` or ``version``)."""

    identifiers: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)

    def add(self, name: str, rows: Sequence[Row]) -> None:
        """Add the nodes that a write affects."""
        for (kind, identified_by, member), names in AFFECTED_NODES.items():
            if name in names:
                known = self.identifiers.setdefault((kind, identified_by), {})
                known.update((row[member], None) for row in rows if row[member] is not None)

    def pop_rows(self, kind: str) -> list[Row]:
        """Return the rows of ``set_job_summaries`` or ``set_dataset_summaries``, and remove them."""
        return [{by: value} for by in ("key", "version") for value in self.identifiers.pop((kind, by), {})]
