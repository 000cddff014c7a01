"""What follows from a dataset's versions: which one is current, and whether it is dropped (specification 5.5, 7.1)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from headwater_avro.names import Key, initial_version_id
from headwater_graph.apply.entities import Entities
from headwater_graph.apply.version_changes import VersionChanges
from headwater_graph.model.node_keys import dataset_node_key
from headwater_graph.model.records import DatasetRecord, unpack
from headwater_graph.model.values import LATEST, Made, RetainedRead, Row
from headwater_graph.rules.dataset_versions import unwritten_version_id
from headwater_graph.rules.facets import says_drop
from headwater_graph.store.port import Transaction

_moment_of = attrgetter("moment")


def load_datasets(tx: Transaction, entities: Entities, keys: Iterable[Key]) -> None:
    """Read the stored datasets of ``keys`` that are not loaded yet."""
    missing = {key for key in keys if key not in entities.stored_datasets}
    entities.stored_datasets |= tx.datasets(missing)


def stored_latest(entities: Entities, dataset: Key) -> Made | None:
    """Return the version of a dataset with the greatest moment, as loaded."""
    stored = entities.stored_datasets.get(dataset)
    return stored.latest if stored else None


def apply_current_versions(
    tx: Transaction, entities: Entities, version_changes: VersionChanges, reread: set[Key], uncertain: set[Key]
) -> None:
    """Write what follows for datasets; of the ``uncertain`` ones, reads changed in other ways than by new inexact ones."""
    changed = version_changes.points.keys() | reread
    load_datasets(tx, entities, changed)
    rows = []
    for dataset in sorted(changed):
        stored = entities.stored_datasets.get(dataset)
        before = stored.current if stored else None
        made = _latest(tx, entities, dataset, version_changes)
        if made is None and (dataset in uncertain or dataset in version_changes.removed):
            current = _unwritten_current(tx, dataset, stored.retained_read if stored else None)
        else:
            current = made.id if made else before or initial_version_id(dataset)
        if current != before:
            rows.append({"dataset": dataset_node_key(dataset), "version": current})
    tx.write({"link_current_dataset_versions": rows})
    _apply_dropped(tx, entities, version_changes.points.keys() | entities.drop_reported)


def _unwritten_current(tx: Transaction, dataset: Key, retained: RetainedRead | None) -> str | None:
    """Return the current version if none has a moment: the external one read last, else a read initial one (5.5)."""
    exact = tx.last_exact_read(dataset)
    if retained is not None and retained.external is not None and (exact is None or exact.moment < retained.moment):
        return unwritten_version_id(dataset, retained.external)
    if exact is not None:
        return exact.version
    return initial_version_id(dataset) if retained is not None or tx.has_inexact_read(dataset) else None


def _latest(tx: Transaction, entities: Entities, dataset: Key, version_changes: VersionChanges) -> Made | None:
    latest = stored_latest(entities, dataset)
    if latest is not None and latest.id in version_changes.removed.get(dataset, ()):
        return tx.made_before([(dataset, LATEST, "")])[0]
    candidates = [*version_changes.appended.get(dataset, ()), *([latest] if latest else [])]
    return max(candidates, key=_moment_of, default=None)


def _apply_dropped(tx: Transaction, entities: Entities, datasets: Iterable[Key]) -> None:
    """Write whether datasets are dropped that were ever reported as dropped."""
    rows = []
    for dataset in sorted(datasets):
        stored = entities.stored_datasets.get(dataset)
        if dataset not in entities.drop_reported and not (stored and stored.says_drop):
            continue
        rows.append(dropped_row(tx, dataset, _dataset_record(entities, dataset)))
    tx.write({"set_dropped": rows})


def dropped_row(tx: Transaction, dataset: Key, record: DatasetRecord) -> Row:
    """Return the row that states whether a dataset is dropped.

    It is if its merged facet states DROP and no later version of it exists that does not state DROP (specification 7.1).
    """
    facets = record.facets
    dropped = says_drop(facets) and not tx.has_live_version_after(dataset, facets["lifecycleStateChange"][0])
    return {"dataset": dataset_node_key(dataset), "dropped": dropped or None}


def _dataset_record(entities: Entities, dataset: Key) -> DatasetRecord:
    if dataset in entities.datasets:
        return entities.datasets[dataset]
    stored = entities.stored_datasets.get(dataset)
    return unpack(stored.record, DatasetRecord) if stored and stored.record else DatasetRecord()
