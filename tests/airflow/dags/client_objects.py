"""An operator that Airflow's provider can read as well as we can."""

# Run by another Python, beside an Airflow that is not installed here.
# mypy: ignore-errors
from datetime import UTC, datetime

from airflow.models.baseoperator import BaseOperator
from openlineage.client.event_v2 import OutputDataset
from openlineage.client.facet_v2 import external_query_run

from headwater.operators import TaskInstanceLineage

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG


class Loads(BaseOperator):
    def execute(self, context):
        return None

    def get_openlineage_facets_on_complete(self, ti):
        query = external_query_run.ExternalQueryRunFacet(externalQueryId=f"{self.task_id}-1", source="shop")
        return TaskInstanceLineage(outputs=[OutputDataset("s3://shop", "a.csv")], run_facets={"externalQuery": query})


with DAG(dag_id="client_objects", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False):
    Loads(task_id="loads")
