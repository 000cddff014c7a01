"""Lineage of Apache Airflow 2.10 and later, beside its OpenLineage provider or in place of it.

Beside it, ``lineage_run_id`` and the like return the provider's ids, and ``headwater.operators.emit_dataset_lineage`` finds
the current task. In its place, ``headwater.operators.airflow.plugin`` has a listener, which is active unless the provider is.
Run ids, job names and parents are the provider's in both cases, so the graph merges the events of both.

Only the plugin module imports Airflow, and only Airflow loads that module.
"""

from .facts import lineage_job_name, lineage_job_namespace, lineage_parent_id, lineage_run_id, task_run_of
from .settings import AirflowSettings, provider_listens, read_settings
from .tasks import AirflowTasks

__all__ = [
    "AirflowSettings",
    "AirflowTasks",
    "lineage_job_name",
    "lineage_job_namespace",
    "lineage_parent_id",
    "lineage_run_id",
    "provider_listens",
    "read_settings",
    "task_run_of",
]
