"""One batch from Spark's rows to the graph, without Spark: in which order, and what happens when something is away."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headwater_avro.errors import ServerUnavailable
from headwater_consumer.batch_processor import BatchProcessor, Draining, Tagged
from headwater_consumer.kafka.dead_letters import DeadLetter
from headwater_consumer.kafka.messages import Message
from headwater_consumer.monitoring.health import Status
from headwater_consumer.monitoring.metrics import Metrics
from headwater_consumer.partition import TAGGED, tag_partition
from headwater_graph.apply.batch_writer import BatchPosition, BatchReport, Refused
from headwater_graph.apply.merged import Portion
from headwater_graph.rules.coalesce import MergedRow

from .fakes import CollectedDeadLetters, InMemoryMessages
from .kafka_room import CollectingWriter, report, run_event
from .test_partition import message, record_batch

AWAY = ServerUnavailable("Neo4j", "bolt://x", "gone")


class Frame:
    """As much of a DataFrame as a batch needs."""

    def __init__(self, messages: Iterable[Message], query_id: str = "q") -> None:
        self._messages = list(messages)
        context = SimpleNamespace(getLocalProperty={"sql.streaming.queryId": query_id}.get)
        self.sparkSession = SimpleNamespace(sparkContext=context)

    def toArrow(self) -> pa.Table:
        return pa.Table.from_batches(tag_partition([record_batch(self._messages)]), TAGGED)


class Bench:
    """A cycle over fakes, and a list of what happened in which order."""

    def __init__(self, *, sink_faults: Iterable[Exception] = (), stored: Iterable[Message] = ()) -> None:
        self.writer = CollectingWriter()
        self.sink = CollectedDeadLetters(sink_faults)
        self.metrics = Metrics()
        self.status = Status(self.metrics)
        self.stop = threading.Event()
        self.order: list[str] = []
        self.cycle = BatchProcessor(
            self, self._Sink(self), InMemoryMessages(stored), self.status, stop=self.stop, first_wait=0.001
        )

    def prepare(self, rows: Iterable[MergedRow]) -> list[Portion]:
        return self.writer.prepare(rows)

    def write(self, prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        self.order.append("graph")
        return self.writer.write(prepared, position)

    def commit_offsets(self, position: BatchPosition) -> None:
        self.order.append("offsets")
        self.writer.commit_offsets(position)

    class _Sink:
        def __init__(self, bench: Bench) -> None:
            self._bench = bench

        def send(self, letters: Iterable[DeadLetter]) -> None:
            self._bench.order.append("dead letters")
            self._bench.sink.send(letters)

    def run(self, messages: Iterable[Message], batch_id: int = 0) -> None:
        self.cycle(Frame(messages), batch_id)

    def codes(self) -> list[str]:
        return [letter.code for letter in self.sink.letters]

    def sample(self, name: str) -> float:
        lines = self.metrics.text().decode().splitlines()
        return float(next(line for line in lines if line.startswith(name + " ")).split()[-1])


def test_dead_letters_are_acknowledged_before_the_graph_is_written_and_refused_messages_after() -> None:
    refused = message(2, run_event("old"))
    bench = Bench(stored=[refused])
    bench.writer.refuses = {b"old": ("before_horizon", "too old")}
    bench.run([message(0, b"{bad"), message(1, run_event("one")), refused])
    assert bench.order == ["dead letters", "graph", "dead letters", "offsets"]
    assert [(letter.code, letter.detail, letter.message) for letter in bench.sink.letters[1:]] == [
        ("before_horizon", "too old", refused)
    ]
    assert bench.writer.runs == {"one"}


def test_every_message_of_a_refused_row_becomes_a_dead_letter() -> None:
    messages = [message(offset, run_event("odd")) for offset in (3, 5, 9)]
    bench = Bench(stored=messages)
    bench.writer.refuses = {b"odd": ("store_refused", "no")}
    bench.run(messages)
    assert [letter.message.offset for letter in bench.sink.letters] == [3, 5, 9]
    assert bench.sample('headwater_dead_letters_total{code="store_refused"}') == 3
    assert bench.sample("headwater_joined_total") == 0


def test_rows_of_all_tasks_are_interleaved_so_that_portions_are_in_order_of_time() -> None:
    batches: list[pa.RecordBatch] = []
    for partition, runs in enumerate((["a0", "a1", "a2"], ["b0"], ["c0", "c1"])):
        messages = [message(at, run_event(run), partition=partition) for at, run in enumerate(runs)]
        batches += tag_partition([record_batch(messages)])
    rows = Tagged(pa.Table.from_batches(batches, TAGGED)).rows()
    assert [key.decode() for _, key, _, _ in rows] == ["a0", "b0", "c0", "a1", "c1", "a2"]


def test_an_empty_batch_has_no_rows() -> None:
    assert list(Tagged(TAGGED.empty_table()).rows()) == []


def test_a_batch_without_dead_letters_sends_none() -> None:
    bench = Bench()
    bench.run([message(0, run_event("one"))])
    assert bench.order == ["graph"]


def test_after_a_stop_request_the_next_batch_raises_before_it_does_anything() -> None:
    bench = Bench()
    bench.stop.set()
    with pytest.raises(Draining):
        bench.run([message(0, b"{bad"), message(1, run_event("one"))])
    assert bench.order == []
    assert isinstance(bench.cycle.failure, Draining)
    assert bench.writer.batch_positions == []


def test_the_whole_batch_is_written_after_an_outage_and_no_letter_is_sent_twice() -> None:
    bench = Bench()
    bench.writer.faults = iter([AWAY, AWAY])
    bench.run([message(0, b"{bad"), message(1, run_event("one")), message(2, run_event("two"))])
    assert bench.order == ["dead letters", "graph", "graph", "graph"]
    assert bench.writer.runs == {"one", "two"}
    assert bench.codes() == ["not_decodable"]
    assert bench.status.state.phase == "running"


def test_while_dead_letters_are_not_acknowledged_the_graph_is_not_written() -> None:
    bench = Bench(sink_faults=[ServerUnavailable("Kafka", "k", "gone")] * 2)
    bench.run([message(0, b"{bad"), message(1, run_event("one"))])
    assert bench.order == ["dead letters"] * 3 + ["graph"]


def test_a_stop_request_ends_the_waiting_without_completing_the_batch() -> None:
    bench = Bench()
    phases = []

    def away() -> Iterator[Exception]:
        while True:
            phases.append(bench.status.state.phase)
            bench.stop.set() if len(phases) > 2 else None
            yield AWAY

    bench.writer.faults = away()
    with pytest.raises(Draining):
        bench.run([message(1, run_event("one"))])
    assert phases == ["starting", "waiting", "waiting"]
    assert bench.writer.batch_positions == []


def test_an_exception_of_the_writer_is_stored_unchanged() -> None:
    bench = Bench()
    bench.writer.faults = iter([KeyError("bug")])
    with pytest.raises(KeyError):
        bench.run([message(1, run_event("one"))])
    assert isinstance(bench.cycle.failure, KeyError)


def test_offsets_of_partitions_without_new_messages_are_committed_too() -> None:
    bench = Bench()
    bench.run([message(4, run_event("one"), partition=0), message(7, run_event("two"), partition=1)], 0)
    bench.run([message(5, run_event("three"), partition=0)], 1)
    assert [position.offsets for position in bench.writer.positions] == [{"t": {0: 5, 1: 8}}, {"t": {0: 6, 1: 8}}]
    assert [position.batch_id for position in bench.writer.positions] == [0, 1]
    assert bench.writer.positions[0].query_id == "q"


def test_a_refused_message_that_kafka_has_deleted_does_not_stop_the_batch(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.writer.refuses = {b"old": ("before_horizon", "too old")}
    bench.run([message(2, run_event("old")), message(3, run_event("one"))])
    assert bench.writer.runs == {"one"}
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "message deleted before it could be dead-lettered"
    ]


def test_the_writers_report_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    answer = report(late_runs=2, refolded_versions=3, deferred_transactions=4, phase_seconds={"fold": 0.5})
    monkeypatch.setattr(bench.writer, "write", lambda prepared, position: answer)
    bench.run([message(0, b"{bad"), message(1, run_event("one"))])
    assert bench.sample("headwater_late_runs_total") == 2
    assert bench.sample("headwater_refolded_versions_total") == 3
    assert bench.sample("headwater_deferred_transactions_total") == 4
    assert bench.sample('headwater_batch_seconds_sum{phase="fold"}') == 0.5
    assert bench.sample('headwater_batch_seconds_count{phase="read"}') == 1


def test_a_refusal_identifies_its_messages_by_the_sources_of_its_row() -> None:
    item = message(1, run_event("odd"))
    bench = Bench(stored=[item])

    def refuse(prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        kind, key, _, sources = next(iter(prepared)).rows[0]
        return report(refused=[Refused(kind, key, sources, "store_refused", "no")])

    bench.writer.write = refuse  # type: ignore[method-assign]
    bench.run([item])
    assert [letter.identity for letter in bench.sink.letters] == [("t", 1, 1)]


def test_fetched_letters_are_sent_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater_consumer.batch_processor.LETTERS_BATCH_BYTES", 10)
    messages = [message(offset, run_event("odd")) for offset in range(3)]
    bench = Bench(stored=messages)
    refuses: dict[bytes, Any] = {b"odd": ("store_refused", "no")}
    bench.writer.refuses = refuses
    bench.run(messages)
    assert bench.order == ["graph", *["dead letters"] * 3, "offsets"]
