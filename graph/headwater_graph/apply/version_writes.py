"""Write the dataset versions that a batch changes, and what follows from them (specification 5, 7.1)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from headwater_avro.events import DatasetEvent
from headwater_graph.apply.current_versions import load_datasets
from headwater_graph.apply.entities import Entities
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.version_changes import VersionChanges, add_event, add_run
from headwater_graph.apply.version_reads import affected_reads, own_reads, resolve
from headwater_graph.store.port import Transaction


def apply_dataset_versions(
    tx: Transaction, entities: Entities, events: Iterable[DatasetEvent], limits: TransactionLimits
) -> None:
    """Write the versions that changed runs and DatasetEvents make, and all reads that they affect."""
    version_changes = VersionChanges()
    for change in entities.changes.values():
        add_run(version_changes, change)
    for event in events:
        add_event(version_changes, event)
    load_datasets(
        tx, entities, chain(version_changes.points, *(change.new.inputs for change in entities.changes.values()))
    )
    tx.write(
        {
            "set_unmade_dataset_versions": version_changes.vanished,
            "create_dataset_versions": version_changes.created,
            "upsert_dataset_versions": version_changes.upserted,
        }
    )
    unlinked, pending = own_reads(entities.changes.values())
    own = {(read.run_id, read.dataset) for read in pending} | {(row["id"], row["of"]) for row in unlinked}
    affected = affected_reads(tx, entities, version_changes, limits)
    pending += [read for read in affected if (read.run_id, read.dataset) not in own]
    resolve(tx, entities, pending, unlinked, version_changes)
