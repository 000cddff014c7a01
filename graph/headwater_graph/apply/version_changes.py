"""Which dataset versions appear and go by what a batch changes (specification 5.1, 5.4), and what that concerns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater_avro.events import DatasetEvent
from headwater_avro.names import Key, dataset_event_version_id, dataset_version_id
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.model.node_keys import dataset_hash, run_hash
from headwater_graph.model.values import Made, Moment, Row
from headwater_graph.rules import facets as read
from headwater_graph.rules.merge import dataset_of
from headwater_graph.rules.runs import Run, Write


@dataclass(slots=True)
class VersionChanges:
    """What the new and vanished versions of a batch concern."""

    new: list[Row] = field(default_factory=list)
    put: list[Row] = field(default_factory=list)
    gone: list[Row] = field(default_factory=list)
    appended: dict[Key, list[Made]] = field(default_factory=dict)
    removed: dict[Key, set[str]] = field(default_factory=dict)
    points: dict[Key, set[Moment]] = field(default_factory=dict)
    externals: set[tuple[Key, str]] = field(default_factory=set)

    def appears(self, dataset: Key, made: Made) -> None:
        """A version of a dataset is there now."""
        self.appended.setdefault(dataset, []).append(made)
        self._concerns(dataset, made.moment, made.external)

    def goes(self, dataset: Key, id_: str, moment: Moment, external: str | None) -> None:
        """A version is no longer there, or no longer as it was."""
        self.removed.setdefault(dataset, set()).add(id_)
        self._concerns(dataset, moment, external)

    def _concerns(self, dataset: Key, moment: Moment, external: str | None) -> None:
        self.points.setdefault(dataset, set()).add(moment)
        if external is not None:
            self.externals.add((dataset, external))


def add_run(version_changes: VersionChanges, change: RunChange) -> None:
    """Note which versions a changed run makes, changes and no longer makes (specification 5.1)."""
    old, new = change.old, change.new
    before = old.writes if old else {}
    for dataset in before.keys() - new.writes.keys():
        assert old is not None
        id_ = dataset_version_id(dataset, new.id)
        version_changes.gone.append({"id": id_})
        version_changes.goes(dataset, id_, (before[dataset].time, new.id), before[dataset].external)
    for dataset, write in new.writes.items():
        known = before.get(dataset)
        if known == write and old is not None and old.state == new.state:
            continue
        id_ = dataset_version_id(dataset, new.id)
        (version_changes.new if known is None else version_changes.put).append(_version_row(id_, dataset, new, write))
        if known is None or replace(known, schema=None) != replace(write, schema=None):
            if known is not None:
                version_changes.goes(dataset, id_, (known.time, new.id), known.external)
            version_changes.appears(dataset, Made(id_, (write.time, new.id), new.id, write.external, write.drops))


def _version_row(id_: str, dataset: Key, run: Run, write: Write) -> Row:
    return {
        "id": id_,
        "dataset": dataset_hash(dataset),
        "moment": write.time,
        "tie": run.id,
        "madeBy": run.id,
        "run": run_hash(run.id),
        "external": write.external,
        "state": run.state,
        "schema": write.schema,
        "drops": write.drops or None,
        "text": None,
    }


def add_event(version_changes: VersionChanges, event: DatasetEvent) -> None:
    """Specification 5.4: a DatasetEvent makes a version if it carries a schema with a list of fields, or an external version."""
    record = dataset_of(event)
    schema = read.schema_of(read.living(record.facets, "schema"))
    external = read.external_version(read.living(record.facets, "version"))
    if schema is None and external is None:
        return
    id_ = dataset_event_version_id(event.dataset, event.text)
    drops = read.says_drop(record.facets)
    version_changes.put.append(
        {
            "id": id_,
            "dataset": dataset_hash(event.dataset),
            "moment": event.time,
            "tie": event.text,
            "madeBy": None,
            "run": None,
            "external": external,
            "state": None,
            "schema": schema,
            "drops": drops or None,
            "text": event.text,
        }
    )
    version_changes.appears(event.dataset, Made(id_, (event.time, event.text), None, external, drops))
