"""What the provider and the plugin have to report alike: SQL on SQLite, annotated tasks, a mapped one, and one that fails."""

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


@dag(dag_id="both_ways", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False)
def both_ways():
    load = SQLExecuteQueryOperator(
        task_id="load",
        conn_id="shop",
        sql="create table raw (id int, price int); insert into raw values (1, 10), (2, 20)",
        split_statements=True,
    )
    copy = SQLExecuteQueryOperator(
        task_id="copy",
        conn_id="shop",
        sql=["create table orders as select id, price as total from raw", "delete from raw"],
    )

    @task(inlets=[Asset(f"file://{HERE}/orders.csv")], outlets=[Asset(f"file://{HERE}/counts.csv")])
    def count():
        return [1, 2]

    @task(outlets=[Asset(f"file://{HERE}/parts.csv")])
    def ship(number):
        return number

    @task(retries=1, retry_delay=timedelta(seconds=0))
    def bill(**context):
        if context["ti"].try_number < 2:
            raise RuntimeError("the press is jammed")

    counted = count()
    load >> copy >> counted
    ship.expand(number=counted) >> bill()


both_ways()
