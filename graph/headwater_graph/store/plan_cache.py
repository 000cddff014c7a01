"""What every batch asks and writes, planned by the server before there is a batch.

A Neo4j that has just started takes a tenth of a second and more to plan a statement, and its first batch uses some forty. A
consumer has them planned while its Spark starts.
"""

from __future__ import annotations

from headwater_graph.store.connection import translated
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.statements import asked

USUAL = (
    "read_owed",
    "read_runs",
    "read_jobs",
    "read_datasets",
    "write_put_named_jobs",
    "write_create_runs",
    "write_put_jobs",
    "write_put_datasets",
    "write_link_fields",
    "write_put_runs",
    "write_put_last_run_states",
    "write_create_dataset_versions",
    "write_put_dataset_versions",
    "read_made_after",
    "read_readers_between",
    "read_made_before",
    "write_cut_reads",
    "write_put_unmade_versions",
    "write_put_reads",
    "write_drop_unread_versions",
    "write_put_current_dataset_versions",
    "read_versions_before",
    "read_runs_from",
    "read_job_events_from",
    "read_versions_between",
    "write_put_job_versions",
    "write_cut_ran",
    "write_put_ran",
    "write_drop_job_versions",
    "write_count_runs",
    "write_add_runs",
    "read_versions_after",
    "read_last_runs_before",
    "write_end_job_versions",
    "write_put_last_runs",
    "write_put_current_job_versions",
    "write_cut_current_edges",
    "write_put_feeds",
    "write_put_produces",
    "read_fields_joined",
    "write_cut_columns",
    "write_put_fields",
    "write_put_columns",
    "write_drop_unnamed_fields",
    "write_put_fold_states",
    "write_put_offsets",
    "write_put_job_glances",
    "write_put_dataset_glances",
)
"""Statements of ordinary batches, in their order; each does nothing where it is given no rows."""


def warm_up(store: Neo4jStore) -> None:
    """Have the server plan and once carry out the usual statements with nothing to do, in a transaction that is given up.

    Takes a fraction of a second where they are planned already. Raises ServerUnavailable.
    """
    with (
        translated(store.settings),
        store.driver.session(database=store.settings.database) as session,
        session.begin_transaction(timeout=store.settings.write_timeout) as tx,
    ):
        for name in USUAL:
            tx.run(*asked(name, {"rows": [], "limit": 1})).consume()
