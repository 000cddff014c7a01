"""The small parts: the wire format, the sizes of queued events, the counters, the validation of events."""

from __future__ import annotations

import datetime as dt
import enum
import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from openlineage.client import event_v2
from openlineage.client.facet_v2 import schema_dataset
from openlineage.client.serde import Serde

from headwater.transport import Counters
from headwater.transport.broker import KafkaBroker
from headwater.transport.counters import AtomicCounter, TransportCounters
from headwater.transport.kafka_errors import delivery_status
from headwater.transport.prometheus import CountersCollector
from headwater.transport.queue import EMPTY, UNMEASURED_EVENTS, EventQueue, estimate_size
from headwater.transport.settings import HeadwaterConfig
from headwater.transport.validation import Schemas, faults_of_line
from headwater.transport.wire import NotSerialisable, key_of, to_json, to_tree

from .events import run_event

DATA = Path(__file__).parents[2] / "../shared/data/openlineage"


class Colour(enum.Enum):
    RED = "red"


def big_event(columns: int) -> event_v2.RunEvent:
    fields = [schema_dataset.SchemaDatasetFacetFields(f"column_{n}", "string") for n in range(columns)]
    outputs = [
        event_v2.OutputDataset("ns", f"d{n}", facets={"schema": schema_dataset.SchemaDatasetFacet(fields=fields)})
        for n in range(5)
    ]
    run, job = event_v2.Run(str(uuid.uuid4())), event_v2.Job("n", "j")
    return event_v2.RunEvent(eventTime="2024-01-01T00:00:00Z", run=run, job=job, outputs=outputs)


def test_values_of_all_kinds() -> None:
    event = {
        "none": None,
        "list": [1, None, {"a": None}],
        "enum": Colour.RED,
        "time": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        "id": uuid.UUID(int=1),
        "bytes": b"x",
        "set": {1},
        "infinite": float("inf"),
        "large": 2**70,
        "object": threading,
        3: "three",
    }
    assert json.loads(to_json(to_tree(event))) == {
        "list": [1, {}],
        "enum": "red",
        "time": "2024-01-01T00:00:00+00:00",
        "id": "00000000-0000-0000-0000-000000000001",
        "bytes": "x",
        "set": [1],
        "infinite": "inf",
        "large": 2**70,
        "object": "<<non-serializable: module>>",
        "3": "three",
    }


def test_an_object_is_written_as_openlineage_writes_it() -> None:
    event = big_event(3)
    assert json.loads(to_json(to_tree(event))) == json.loads(Serde.to_json(event))


def test_lone_surrogates_are_replaced() -> None:
    assert json.loads(to_json({"x\ud800": ["a\ud800b"]})) == {"x\ufffd": ["a\ufffdb"]}


def test_numpy_scalars() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy comes with the extra consumer")
    assert to_tree({"n": numpy.int64(7), "x": numpy.float32(0.5)}) == {"n": 7, "x": 0.5}


@pytest.mark.parametrize("event", [3, "text", [], None])
def test_an_event_must_be_an_object(event: Any) -> None:
    with pytest.raises(NotSerialisable):
        to_tree(event)


def test_keys() -> None:
    job, dataset = {"namespace": "n", "name": "j"}, {"namespace": "n", "name": "d"}
    assert key_of({"run": {"runId": "r"}, "job": job}) == b"r"
    assert key_of({"job": job}) == b"job:n/j"
    assert key_of({"dataset": dataset}) == b"dataset:n/d"
    assert key_of({"run": {"runId": 7}, "job": job}) == b"job:n/j"
    assert key_of({}) is None


@pytest.mark.parametrize("columns", [1, 30, 1000])
def test_estimates_are_near_the_size(columns: int) -> None:
    event = big_event(columns)
    for value in (event, to_tree(event)):
        assert 0.5 < estimate_size(value) / len(to_json(to_tree(event))) < 3


def test_the_queue_estimates_sizes_only_when_it_fills() -> None:
    queue = EventQueue(1_000, 10)
    assert all(queue.offer({"text": "x" * 100}) for _ in range(UNMEASURED_EVENTS))
    assert not queue.offer({"text": "x" * 100})
    assert len(queue) == UNMEASURED_EVENTS
    queue.take(0)
    assert queue.offer({"text": "x" * 100})


def test_taking_from_an_empty_queue() -> None:
    queue = EventQueue(1, 1)
    assert queue.take(0) is EMPTY
    assert queue.offer(None)
    assert queue.take(0) is None


def test_a_counter_of_many_threads() -> None:
    counter = AtomicCounter()
    threads = [threading.Thread(target=lambda: counter.increment(5_000)) for _ in range(8)]
    for thread in threads:
        thread.start()
        counter.read()
    for thread in threads:
        thread.join()
    assert counter.read() == counter.read() == 40_000


def test_counters_add_up() -> None:
    counters = TransportCounters()
    counters.emitted.increment(3)
    counters.add_dropped("queue_full", 2)
    total = counters.snapshot() + Counters(emitted=1, dropped={"torn": 1})
    assert (total.emitted, total.dropped, total.lost()) == (4, {"queue_full": 2, "torn": 1}, 3)


def test_prometheus() -> None:
    prometheus_client = pytest.importorskip(
        "prometheus_client", reason="prometheus-client comes with the extra consumer"
    )
    registry = prometheus_client.CollectorRegistry()
    registry.register(CountersCollector(lambda: Counters(emitted=3, dropped={"torn": 2})))
    text = prometheus_client.generate_latest(registry).decode()
    assert "headwater_emitter_emitted_total 3.0" in text
    assert 'headwater_emitter_dropped_total{reason="torn"} 2.0' in text


def test_which_errors_are_permanent() -> None:
    from confluent_kafka import KafkaError

    statuses = {code: delivery_status(KafkaError(code)) for code in (10, 29, 41, 3, -192, -185, 87, -152, 18)}
    refused = {code for code, status in statuses.items() if status == "refused"}
    assert refused == {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.RECORD_LIST_TOO_LARGE}
    assert delivery_status(None) == "delivered"


def test_a_broken_producer_is_replaced() -> None:
    from confluent_kafka import KafkaError

    broker = KafkaBroker(HeadwaterConfig(bootstrap_servers="127.0.0.1:1"))
    before = broker._producer
    broker._on_error(KafkaError(KafkaError._FATAL, "fenced", fatal=True))
    broker.send(_message(), lambda *_: None)
    assert broker._producer is not before
    broker.recall()


def _message() -> Any:
    from headwater.transport.broker import Message

    return Message(b"k", b"v")


def faults(event: dict[str, Any], schemas: Schemas | None = None) -> dict[str, str]:
    return {fault.pointer: fault.what for fault in faults_of_line(json.dumps(event).encode(), schemas)}


def test_faults_by_openlineages_classes() -> None:
    run_id = str(uuid.uuid4())
    assert faults(run_event(run_id)) == {}
    event = run_event(run_id, "BEGIN", inputs=[{"namespace": "n", "name": 3}, 7])
    event["job"]["facets"] = {
        "sql": {"query": 1},
        "sourceCode": {"language": "python"},
        "own": {"anything": [1]},
        "documentation": {"_deleted": True},
    }
    event["run"]["facets"]["nominalTime"] = {"nominalStartTime": "yesterday"}
    event["outputs"] = [
        {
            "namespace": "n",
            "name": "o",
            "facets": {"columnLineage": {"fields": {"a/b": {"inputFields": [{"namespace": "n", "name": "d"}]}}}},
            "outputFacets": {"outputStatistics": {"rowCount": 1.5}},
        }
    ]
    found = faults(event)
    assert set(found) == {
        "/eventType",
        "/inputs/0/name",
        "/inputs/1",
        "/job/facets/sql/query",
        "/job/facets/sourceCode/sourceCode",
        "/run/facets/nominalTime/nominalStartTime",
        "/outputs/0/facets/columnLineage/fields/a~1b/inputFields/0/field",
        "/outputs/0/outputFacets/outputStatistics/rowCount",
    }
    assert found["/eventType"] == "must be one of START, RUNNING, COMPLETE, ABORT, FAIL, OTHER"


def test_the_facet_subset_is_validated() -> None:
    event = run_event(str(uuid.uuid4()))
    condition: dict[str, Any] = {"type": "location", "locations": ["/a"]}
    subset = {"_producer": "urn:p", "_schemaURL": "urn:s", "inputCondition": condition}
    event["inputs"] = [{"namespace": "n", "name": "a", "inputFacets": {"subset": subset}}]
    assert faults(event) == {}
    condition["locations"] = 3
    assert faults(event) == {"/inputs/0/inputFacets/subset/inputCondition/locations": "must be a list"}


def test_faults_of_other_json() -> None:
    assert [fault.what for fault in faults_of_line(b"[1]")] == ["must be an object"]
    assert [fault.what for fault in faults_of_line(b"{}")] == ["must have a run with a job, or a job, or a dataset"]
    assert faults_of_line(b"{")[0].what.startswith("not JSON")


@pytest.mark.skipif(not DATA.is_dir(), reason=f"real events are not in {DATA}")
def test_real_events() -> None:
    schemas = Schemas(DATA / "schemas")
    for path in sorted((DATA / "events/CLL/events").glob("*.json")):
        assert faults_of_line(path.read_bytes(), schemas) == [], path
    samples = DATA / "spec-samples/fluentd"
    for name, pointer in {
        "event_invalid_job_facet.json": "/job/facets/ownership/owners/0",
        "event_invalid_output_dataset_facet.json": "/outputs/0/outputFacets/outputStatistics/rowCount",
        "event_no_run_id.json": "/run",
    }.items():
        by_class = {fault.pointer for fault in faults_of_line((samples / name).read_bytes())}
        by_schema = {fault.pointer for fault in schemas_only(schemas, samples / name)}
        assert any(found.startswith(pointer) for found in by_class), name
        assert pointer in by_schema, name


def schemas_only(schemas: Schemas, path: Path) -> Any:
    return schemas.faults(json.loads(path.read_text()), "RunEvent")
