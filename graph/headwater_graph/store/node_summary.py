"""What an answer shows of a job or dataset, kept with it as one text: read in a third of the time of all it is made of.

The law. A glance says of a node what the questions ``job_marks`` and ``dataset_marks`` would be answered, as the JSON that
answers show. It is made in the database, by ``cypher/glance_of_job.cypher`` and ``glance_of_dataset.cypher`` alone, at the end
of each transaction that wrote what it is made of (TOUCHED). It is a copy: nothing is lost where there is none, whoever reads
asks those questions then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from headwater_graph.model.values import Row, Statement


class NodeSummary(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a node keeps at hand: its kind, key and name, whether it is a dataset with other names, marks and facts.

    A node that keeps nothing is told up to ``aliased``; ``marks`` are None then.
    """

    kind: Literal["dataset", "job"]
    key: str
    name: tuple[str, str]
    aliased: bool
    marks: tuple[str, ...] | None = None
    facts: dict[str, Any] = {}


_GLANCES = msgspec.json.Decoder(list[NodeSummary])


def summaries_of(texts: Iterable[str]) -> list[NodeSummary]:
    """Return the glances that a question was answered."""
    return _GLANCES.decode(f"[{','.join(texts)}]")


AFFECTED_NODES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "upsert_jobs": (("job", "key", "key"),),
    "upsert_named_jobs": (("job", "key", "key"),),
    "link_current_job_versions": (("job", "key", "job"),),
    "upsert_job_versions": (("job", "key", "job"),),
    "set_added_runs": (("job", "version", "id"),),
    "set_run_counts": (("job", "version", "id"),),
    "set_last_runs": (("job", "version", "id"),),
    "set_last_run_states": (("job", "version", "version"),),
    "set_removed_run_counts": (("job", "version", "id"),),
    "set_retained_runs": (("job", "version", "id"),),
    "upsert_datasets": (("dataset", "key", "key"),),
    "upsert_named_datasets": (("dataset", "key", "key"),),
    "link_current_dataset_versions": (("dataset", "key", "dataset"),),
    "upsert_dataset_versions": (("dataset", "key", "dataset"),),
    "set_unmade_dataset_versions": (("dataset", "version", "id"),),
    "set_dropped": (("dataset", "key", "dataset"),),
    "link_aliases": (("dataset", "key", "key"), ("dataset", "key", "alias")),
    "unlink_aliases": (("dataset", "key", "key"), ("dataset", "key", "alias")),
}
"""Whose glance each write touches: of which kind, named by key or by a version of its own, in which member of a row.

A version that goes was current no longer, or ``link_current_…`` follows in its transaction.
"""


@dataclass(slots=True)
class VersionChanges:
    """The jobs and datasets whose glance is to be made anew, by (kind, how they are named)."""

    names: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)

    def note(self, statement: Statement) -> None:
        """Note whom a write touches."""
        for kind, named_by, member in AFFECTED_NODES.get(statement.name, ()):
            names = self.names.setdefault((kind, named_by), {})
            names.update((row[member], None) for row in statement.rows if row[member] is not None)

    def rows(self, kind: str) -> list[Row]:
        """Return the rows of ``set_job_summaries`` or ``set_dataset_summaries``, and forget them."""
        named = [(by, self.names.pop((kind, by), {})) for by in ("key", "version")]
        return [{by: name} for by, names in named for name in names]
