"""Operators with their own lineage methods: a templated name, a deferral, a skip."""

# Run by another Python, beside an Airflow that is not installed here.
# mypy: ignore-errors
from datetime import UTC, datetime, timedelta

from airflow.models.baseoperator import BaseOperator

from headwater.operators import carry_over

try:
    from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
    from airflow.sdk import DAG
    from airflow.sdk.exceptions import AirflowSkipException
    from airflow.sdk.lineage import get_hook_lineage_collector
except ImportError:
    from airflow import DAG
    from airflow.exceptions import AirflowSkipException
    from airflow.lineage.hook import get_hook_lineage_collector
    from airflow.triggers.temporal import TimeDeltaTrigger


class Loads(BaseOperator):
    """Names its table by a template in a field that Airflow does not render."""

    def execute(self, context):
        return None

    def get_openlineage_facets_on_complete(self, ti):
        return {
            "runFacets": {"externalQuery": {"externalQueryId": f"{self.task_id}-1", "source": "shop"}},
            "outputs": [
                {"namespace": "s3://shop", "name": "day={{ ds }}/a.csv"},
                {"namespace": "s3://shop", "name": ""},
            ],
        }


class Waits(BaseOperator):
    """Determines its table before it is deferred, and is another object afterwards."""

    table = "unknown"

    def execute(self, context):
        self.table = "lost"
        carry_over(context["ti"])["table"] = "known"
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds=0)), method_name="resume")

    def resume(self, context, event=None):
        return None

    def get_openlineage_facets_on_complete(self, ti):
        return {"outputs": [{"namespace": "n", "name": name} for name in (self.table, carry_over(ti).get("table"))]}


class Hooked(BaseOperator):
    """Has no lineage methods; its hook reports an asset, as Airflow's own hooks do."""

    def execute(self, context):
        collector = get_hook_lineage_collector()
        add = getattr(collector, "add_input_asset", None) or collector.add_input_dataset
        add(self, uri="s3://shop/hooked.csv")


class Skips(Loads):
    def execute(self, context):
        raise AirflowSkipException("nothing new")


with DAG(dag_id="own_methods", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False):
    Loads(task_id="loads") >> Waits(task_id="waits") >> Hooked(task_id="hooked") >> Skips(task_id="skips")
