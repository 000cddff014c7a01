"""Lineage of Apache Airflow 2.10 and later, beside its OpenLineage provider or in place of it.

Beside it: `lineage_run_id` and its fellows tell the ids that the provider gives, and
`headwater.operators.emit_dataset_lineage` finds the task that runs here. In its place:
`headwater.operators.airflow.plugin` listens itself, unless the provider does. Run ids, job names and parents are the
provider's either way, so the graph joins what one has told with what the other tells.

Only the plugin module imports Airflow, and only Airflow loads that.
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
