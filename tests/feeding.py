"""Writing messages to a store as the consumer does, but without Kafka and Spark."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_avro.errors import EventRejected
from headwater_consumer.horizon_split import part
from headwater_consumer.kafka.messages import Message
from headwater_graph.apply.batch_writer import BatchPosition, BatchReport, GraphWriter
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.dump import Scanner, dump
from headwater_graph.rules.coalesce import Coalescer, unpack_sources
from headwater_graph.store.port import Store


def feed(store: Store, messages: Iterable[bytes], limits: TransactionLimits | None = None) -> BatchReport:
    """Write one batch of messages; unusable ones are left out."""
    coalescer = Coalescer()
    given = [Message("test", 0, at, -1, None, message, ()) for at, message in enumerate(messages)]
    for message in given:
        try:
            coalescer.add(message.value, source=message.position)
        except EventRejected:
            continue
    writer, position = GraphWriter(store, limits), BatchPosition("test", 0, {})
    report = writer.apply(coalescer.rows(), position)
    while report.split_runs:
        sources = {position for run in report.split_runs for position in unpack_sources(run.sources)}
        rows, _ = part((message for message in given if message.position in sources), report.split_runs)
        report = report.then(writer.apply(rows, position))
    return report


def dumped(store: Scanner) -> bytes:
    """Return the canonical dump of a store."""
    return b"".join(dump(store))


def differences(expected: bytes, actual: bytes) -> str:
    """Return the lines that only one of two dumps has, ``-`` for the expected and ``+`` for the actual one."""
    before, after = set(expected.splitlines()), set(actual.splitlines())
    missing = [f"- {line.decode()}" for line in sorted(before - after)]
    return "\n".join([*missing, *(f"+ {line.decode()}" for line in sorted(after - before))])
