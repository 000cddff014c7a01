"""SQL, a Python task, a mapped task, and one that fails at first."""

# Run by another Python, beside an Airflow that is not installed here.
# mypy: ignore-errors
import os
from datetime import UTC, datetime, timedelta

from airflow.providers.common.compat.assets import Asset
from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator

try:
    from airflow.sdk import dag, task
except ImportError:
    from airflow.decorators import dag, task

HERE = os.environ["TEST_FOLDER"]


def asset(name):
    return Asset(f"file://{HERE}/{name}")


@dag(dag_id="four_tasks", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False, tags=["lineage"])
def four_tasks():
    """Orders, counted and shipped."""
    make_orders = SQLExecuteQueryOperator(
        task_id="make_orders",
        conn_id="shop",
        sql="select 1",
        inlets=[asset("raw.csv")],
        outlets=[asset("orders.csv")],
        owner="ada,ben",
    )

    @task(inlets=[asset("orders.csv")], outlets=[asset("counts.csv")])
    def count():
        return [1, 2]

    @task(inlets=[asset("counts.csv")], outlets=[asset("parts.csv")])
    def ship(number):
        from headwater.operators import InputDataset, emit_dataset_lineage

        emit_dataset_lineage([InputDataset("s3://stock", f"part-{number}.csv")], raise_on_error=True)
        return number

    @task(retries=1, retry_delay=timedelta(seconds=0), outlets=[asset("bills.csv")])
    def bill(**context):
        if context["ti"].try_number < 2:
            raise RuntimeError("the press is jammed")

    counted = count()
    make_orders >> counted
    ship.expand(number=counted) >> bill()


four_tasks()
