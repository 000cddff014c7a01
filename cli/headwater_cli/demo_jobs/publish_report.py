"""Step 4 of the demo: a program without Spark and without headwater that tells its lineage with openlineage-python."""

import csv
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.uuid import generate_new_uuid

folder = Path(sys.argv[1])
table, report = folder / "tables/revenue_by_country", folder / "reports/revenue.csv"

client = OpenLineageClient()
run, job = Run(str(generate_new_uuid())), Job("reporting", "publish_report")


def emit(state: RunState, inputs: list[InputDataset], outputs: list[OutputDataset]) -> None:
    """Send one event of this run."""
    event = RunEvent(
        eventTime=datetime.now(UTC).isoformat(),
        eventType=state,
        run=run,
        job=job,
        inputs=inputs,
        outputs=outputs,
        producer="urn:headwater:demo",
    )
    client.emit(event)


emit(RunState.START, [InputDataset("file", str(table))], [])
rows = pyarrow.parquet.read_table(table).to_pylist()
report.parent.mkdir(parents=True, exist_ok=True)
with report.open("w", newline="") as file:
    writer = csv.DictWriter(file, ["country", "day", "revenue", "buyers"])
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: (row["country"], row["day"])))
emit(RunState.COMPLETE, [], [OutputDataset("file", str(report))])
client.close()
