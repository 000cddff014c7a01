"""The dataset versions that appear and vanish by what a batch changes (specification 5.1, 5.4), and what they affect."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater_avro.events import DatasetEvent
from headwater_avro.names import Key, dataset_event_version_id, dataset_version_id
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.model.node_keys import dataset_node_key, run_node_key
from headwater_graph.model.values import Made, Moment, Row
from headwater_graph.rules.dataset_versions import VersionContent, version_content
from headwater_graph.rules.merge import dataset_of
from headwater_graph.rules.runs import RunReading


@dataclass(slots=True)
class VersionChanges:
    """Dataset versions that a batch creates, changes and removes, and what these affect.

    ``created``, ``upserted`` and ``vanished`` are rows. By dataset, ``appended`` has the versions that are there now,
    ``removed`` the ids of those that are not there any more or not as before, ``points`` the moments at which the reads
    change. ``externals`` are the external versions whose reads change.
    """

    created: list[Row] = field(default_factory=list)
    upserted: list[Row] = field(default_factory=list)
    vanished: list[Row] = field(default_factory=list)
    appended: dict[Key, list[Made]] = field(default_factory=dict)
    removed: dict[Key, set[str]] = field(default_factory=dict)
    points: dict[Key, set[Moment]] = field(default_factory=dict)
    externals: set[tuple[Key, str]] = field(default_factory=set)

    def append(self, dataset: Key, made: Made) -> None:
        """Note that a version of a dataset is there now."""
        self.appended.setdefault(dataset, []).append(made)
        self._affect(dataset, made.moment, made.external)

    def remove(self, dataset: Key, id_: str, moment: Moment, external: str | None) -> None:
        """Note that a version is not there any more, or not as before."""
        self.removed.setdefault(dataset, set()).add(id_)
        self._affect(dataset, moment, external)

    def _affect(self, dataset: Key, moment: Moment, external: str | None) -> None:
        self.points.setdefault(dataset, set()).add(moment)
        if external is not None:
            self.externals.add((dataset, external))


def add_run(version_changes: VersionChanges, change: RunChange) -> None:
    """Note which versions a changed run makes, changes and no longer makes (specification 5.1)."""
    old, new = change.old, change.new
    before = old.writes if old else {}
    for dataset in before.keys() - new.writes.keys():
        id_ = dataset_version_id(dataset, new.id)
        version_changes.vanished.append({"id": id_})
        version_changes.remove(dataset, id_, (before[dataset].time, new.id), before[dataset].external)
    for dataset, content in new.writes.items():
        known = before.get(dataset)
        if known == content and old is not None and old.state == new.state:
            continue
        id_ = dataset_version_id(dataset, new.id)
        rows = version_changes.created if known is None else version_changes.upserted
        rows.append(_version_row(id_, dataset, new.id, content, new))
        if known is None or replace(known, schema=None) != replace(content, schema=None):
            if known is not None:
                version_changes.remove(dataset, id_, (known.time, new.id), known.external)
            made = Made(id_, (content.time, new.id), new.id, content.external, content.drops)
            version_changes.append(dataset, made)


def _version_row(id_: str, dataset: Key, tie: str, content: VersionContent, run: RunReading | None) -> Row:
    return {
        "id": id_,
        "dataset": dataset_node_key(dataset),
        "moment": content.time,
        "tie": tie,
        "madeBy": run.id if run else None,
        "run": run_node_key(run.id) if run else None,
        "external": content.external,
        "state": run.state if run else None,
        "schema": content.schema,
        "drops": content.drops or None,
        "text": None if run else tie,
    }


def add_event(version_changes: VersionChanges, event: DatasetEvent) -> None:
    """Note the version that a DatasetEvent makes if it carries a schema or an external version (specification 5.4)."""
    content = version_content(event.time, dataset_of(event).facets)
    if content.schema is None and content.external is None:
        return
    id_ = dataset_event_version_id(event.dataset, event.text)
    version_changes.upserted.append(_version_row(id_, event.dataset, event.text, content, None))
    made = Made(id_, (event.time, event.text), None, content.external, content.drops)
    version_changes.append(event.dataset, made)
