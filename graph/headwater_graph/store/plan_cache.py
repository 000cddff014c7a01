"""Plans the statements of ordinary batches on the server before the first batch.

A Neo4j that has just started needs a tenth of a second or more to plan a statement, and the first batch uses about forty
statements. A consumer has them planned while its Spark starts.
"""

from __future__ import annotations

from headwater_graph.store.connection import translated
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.statements import prepared

USUAL = (
    "read/deferred_work",
    "read/runs",
    "read/jobs",
    "read/datasets",
    "write/upsert_named_jobs",
    "write/create_runs",
    "write/upsert_jobs",
    "write/upsert_datasets",
    "write/link_fields",
    "write/upsert_runs",
    "write/set_last_run_states",
    "write/create_dataset_versions",
    "write/upsert_dataset_versions",
    "read/made_after",
    "read/readers_between",
    "read/made_before",
    "write/unlink_reads",
    "write/upsert_unmade_versions",
    "write/link_reads",
    "write/delete_unread_versions",
    "write/link_current_dataset_versions",
    "read/versions_before",
    "read/runs_from",
    "read/job_events_from",
    "read/versions_between",
    "write/upsert_job_versions",
    "write/unlink_ran",
    "write/link_ran",
    "write/delete_job_versions",
    "write/set_run_counts",
    "write/set_added_runs",
    "read/versions_after",
    "read/last_runs_before",
    "write/set_job_version_ends",
    "write/set_last_runs",
    "write/link_current_job_versions",
    "write/unlink_current_edges",
    "write/link_feeds",
    "write/link_produces",
    "read/fields_joined",
    "write/unlink_columns",
    "write/upsert_fields",
    "write/link_columns",
    "write/delete_unnamed_fields",
    "write/set_fold_states",
    "write/set_offsets",
    "write/set_job_summaries",
    "write/set_dataset_summaries",
)
"""The statements of ordinary batches, in their order; each does nothing without rows."""


def warm_up(store: Neo4jStore) -> None:
    """Run the usual statements without rows, in a transaction that is rolled back, so that the server plans them.

    This takes a fraction of a second if they are planned already. Raises ServerUnavailable.
    """
    with (
        translated(store.settings),
        store.driver.session(database=store.settings.database) as session,
        session.begin_transaction(timeout=store.settings.write_timeout) as tx,
    ):
        for name in USUAL:
            tx.run(*prepared(name, {"rows": [], "limit": 1})).consume()
