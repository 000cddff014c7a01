"""A deterministic workload of OpenLineage events: ``python bench/workload.py --events 300000 > events.jsonl``.

Jobs form layers: each reads outputs of the previous layer and writes its own. Every run has three partial events of
about 3 KB: START has the job, RUNNING the inputs, COMPLETE the outputs with their columns. Jobs alternate, so that a
job's runs are apart in time. Code versions change every 10 runs of a job, inputs every 25.

Events arrive nearly in order, as from many emitters: each is displaced by up to ``window`` positions. 5 % arrive twice. 2 %
of the runs are late: they arrive after later runs of their job. The same arguments produce the same bytes.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

PRODUCER = "https://example.com/workload"
FACET = "https://openlineage.io/spec/facets/1-0-0/Facet.json"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS_PER_RUN = 3
COLUMNS = 12


@dataclass(frozen=True, slots=True)
class Workload:
    """Numbers of events, jobs and layers; shares are between 0 and 1, ``window`` counts events."""

    events: int = 300_000
    jobs: int = 2_000
    layers: int = 10
    seed: int = 1
    window: int = 3_000
    duplicates: float = 0.05
    late: float = 0.02

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (runId, event) in the order of arrival; duplicates are among the ``events``."""
        pick = random.Random(self.seed)
        waiting: list[tuple[int, int, bytes, bytes]] = []
        sent = made = 0
        for run in range(self.events):
            run_id = str(uuid.UUID(int=pick.getrandbits(128), version=4)).encode()
            delay = 2 * self.jobs * EVENTS_PER_RUN if pick.random() < self.late else 0
            for event in self._events(run, run_id.decode()):
                for _ in range(2 if pick.random() < self.duplicates else 1):
                    place = made + delay + pick.randrange(self.window)
                    heapq.heappush(waiting, (place, made, run_id, event))
                    made += 1
            while waiting and waiting[0][0] < made - self.window:
                yield heapq.heappop(waiting)[2:]
                sent += 1
                if sent == self.events:
                    return
            if made >= self.events:
                break
        for _ in range(self.events - sent):
            yield heapq.heappop(waiting)[2:]

    def _events(self, run: int, run_id: str) -> Iterator[bytes]:
        job, turn = run % self.jobs, run // self.jobs
        began = BEGIN + timedelta(milliseconds=50 * run)
        parts = (("START", 0, self._start), ("RUNNING", 5, self._running), ("COMPLETE", 20, self._complete))
        for event_type, seconds, content in parts:
            event = {
                "eventType": event_type,
                "eventTime": (began + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z"),
                "producer": PRODUCER,
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
                **content(job, turn, run_id),
            }
            yield json.dumps(event, separators=(",", ":")).encode()

    def _start(self, job: int, turn: int, run_id: str) -> dict[str, object]:
        properties = {f"spark.sql.setting{number}": f"value of setting {number}" for number in range(24)}
        sql = f"SELECT {', '.join(column(number) for number in range(COLUMNS))} FROM {' JOIN '.join(self._inputs(job, turn))}"
        facets = {
            "nominalTime": facet(nominalStartTime="2026-01-01T00:00:00Z", nominalEndTime="2026-01-02T00:00:00Z"),
            "processing_engine": facet(version="4.2.0", name="spark", openlineageAdapterVersion="1.54.0"),
            "spark_properties": facet(properties=properties),
        }
        job_facets = {
            "jobType": facet(processingType="BATCH", integration="SPARK", jobType="JOB"),
            "sql": facet(query=sql, dialect="spark"),
            "sourceCodeLocation": facet(type="git", url="https://example.com/jobs.git", version=f"v{turn // 10}"),
        }
        return {"run": {"runId": run_id, "facets": facets}, "job": self._job(job) | {"facets": job_facets}}

    def _running(self, job: int, turn: int, run_id: str) -> dict[str, object]:
        inputs = [
            dataset(name) | {"facets": {"schema": schema()}, "inputFacets": {"inputStatistics": facet(rowCount=turn)}}
            for name in self._inputs(job, turn)
        ]
        return {"run": {"runId": run_id}, "job": self._job(job), "inputs": inputs}

    def _complete(self, job: int, turn: int, run_id: str) -> dict[str, object]:
        facets = {
            "schema": schema(),
            "datasource": facet(name="warehouse", uri="s3://warehouse"),
            "columnLineage": columns(self._inputs(job, turn)),
        }
        statistics = {"outputStatistics": facet(rowCount=1_000 + turn, size=1_000_000 + turn)}
        output = dataset(output_of(job)) | {"facets": facets, "outputFacets": statistics}
        return {"run": {"runId": run_id}, "job": self._job(job), "outputs": [output]}

    def _job(self, job: int) -> dict[str, object]:
        return {"namespace": "workload", "name": f"layer{self._layer(job)}.job{job}"}

    def _layer(self, job: int) -> int:
        return job * self.layers // self.jobs

    def _inputs(self, job: int, turn: int) -> list[str]:
        layer, width = self._layer(job), max(1, self.jobs // self.layers)
        if layer == 0:
            return [f"raw.table{job % 97}", f"raw.events{(job + turn // 25) % 89}"]
        before = (layer - 1) * width
        return [output_of(before + (job * step + turn // 25) % width) for step in (1, 7)]


class BriefWorkload(Workload):
    """A run per event (except duplicates): a single COMPLETE event with inputs and an output, without facets."""

    def _events(self, run: int, run_id: str) -> Iterator[bytes]:
        job, turn = run % self.jobs, run // self.jobs
        event = {
            "eventType": "COMPLETE",
            "eventTime": (BEGIN + timedelta(milliseconds=50 * run)).isoformat().replace("+00:00", "Z"),
            "producer": PRODUCER,
            "run": {"runId": run_id},
            "job": self._job(job),
            "inputs": [dataset(name) for name in self._inputs(job, turn)],
            "outputs": [dataset(output_of(job))],
        }
        yield json.dumps(event, separators=(",", ":")).encode()


def output_of(job: int) -> str:
    return f"warehouse.table_of_job{job}"


def dataset(name: str) -> dict[str, object]:
    return {"namespace": "s3://warehouse", "name": name}


def column(number: int) -> str:
    return f"column_number_{number}"


def facet(**members: object) -> dict[str, object]:
    return {"_producer": PRODUCER, "_schemaURL": FACET, **members}


def schema() -> dict[str, object]:
    fields = [{"name": column(number), "type": "string"} for number in range(COLUMNS)]
    return facet(fields=fields)


def columns(inputs: list[str]) -> dict[str, object]:
    change = [{"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}]
    origins = [
        dataset(inputs[number % len(inputs)]) | {"field": column(number), "transformations": change}
        for number in range(COLUMNS)
    ]
    return facet(fields={column(number): {"inputFields": [origin]} for number, origin in enumerate(origins)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind in (("events", int), ("jobs", int), ("layers", int), ("seed", int), ("window", int)):
        parser.add_argument(f"--{name}", type=kind, default=getattr(Workload(), name))
    for name in ("duplicates", "late"):
        parser.add_argument(f"--{name}", type=float, default=getattr(Workload(), name))
    for _, event in Workload(**vars(parser.parse_args())).messages():
        sys.stdout.buffer.write(event + b"\n")


if __name__ == "__main__":
    main()
