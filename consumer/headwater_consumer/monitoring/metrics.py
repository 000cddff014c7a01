"""The consumer's metrics, as Prometheus text.

============================================  ==========================================================================
headwater_messages_total                      messages read from Kafka
headwater_message_bytes_total                 their values' bytes
headwater_joined_total                        events joined into the graph
headwater_dead_letters_total{code}            distinct messages that went to the dead-letter topic
headwater_dead_letters_refused_total          messages that the dead-letter topic took in no form; the log names them
headwater_lost_messages                       offsets that Kafka had deleted before they were in the graph, ever since
headwater_late_runs_total                     runs that came after a later run of their job
headwater_refolded_versions_total             job versions folded again because of late runs
headwater_deferred_transactions_total         transactions of work that others had deferred
headwater_batches_total                       batches written
headwater_batch_seconds{phase}                histogram: ``read`` (Kafka, decoding, joining by task) and ``join`` (over all tasks)
                                              go on while the batch before is written; ``dead_letters``, the writer's own
                                              phases, and ``total`` of writing
headwater_lag_messages{partition}             messages that are in Kafka and not yet in the graph
headwater_last_batch_timestamp_seconds        when a batch was last written, Unix time
headwater_waiting                             1 while a server is waited for
============================================  ==========================================================================

A batch is counted once, when it is written: one that is read again after a failure does not count twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from headwater_avro.errors import REJECTION_CODES

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """The effects of a batch; ``dead`` is by reason code, ``seconds`` by phase, ``offsets`` by topic and partition."""

    query_id: str
    batch_id: int
    offsets: dict[str, dict[int, int]]
    messages: int
    bytes: int
    dead: Mapping[str, int]
    late_runs: int
    refolded_versions: int
    deferred_transactions: int
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def joined(self) -> int:
        return self.messages - sum(self.dead.values())

    def flat(self) -> dict[str, object]:
        """Return the fields of its log line."""
        return {
            "batch": self.batch_id,
            "messages": self.messages,
            "joined": self.joined,
            "dead": sum(self.dead.values()),
            "late_runs": self.late_runs,
            "refolded_versions": self.refolded_versions,
            "deferred_transactions": self.deferred_transactions,
            "seconds": {phase: round(seconds, 3) for phase, seconds in self.seconds.items()},
        }


class Metrics:
    """The consumer's metrics, in a separate registry."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self.messages = counter("headwater_messages", "Messages read from Kafka")
        self.bytes = counter("headwater_message_bytes", "Bytes of the messages read")
        self.joined = counter("headwater_joined", "Events joined into the graph")
        self.dead = counter("headwater_dead_letters", "Messages that can't be used", ["code"])
        self.refused = counter("headwater_dead_letters_refused", "Messages that the dead-letter topic took in no form")
        self.lost = gauge("headwater_lost_messages", "Offsets deleted by Kafka before they were in the graph")
        self.late = counter("headwater_late_runs", "Runs that came after a later one")
        self.refolded = counter("headwater_refolded_versions", "Job versions folded again")
        self.deferred = counter("headwater_deferred_transactions", "Transactions of deferred work")
        self.batches = counter("headwater_batches", "Batches written")
        self.seconds = Histogram(
            "headwater_batch_seconds", "Duration of a batch", ["phase"], registry=registry, buckets=BUCKETS
        )
        self.lag = gauge("headwater_lag_messages", "Messages not yet in the graph", ["partition"])
        self.last = gauge("headwater_last_batch_timestamp_seconds", "When a batch was written")
        self.waiting = gauge("headwater_waiting", "1 while a server is waited for")
        for code in REJECTION_CODES:
            self.dead.labels(code)

    def batch_written(self, batch: BatchSummary, at: float) -> None:
        """Count a batch that was written at ``at``, Unix time."""
        self.messages.inc(batch.messages)
        self.bytes.inc(batch.bytes)
        self.joined.inc(batch.joined)
        for code, count in batch.dead.items():
            self.dead.labels(code).inc(count)
        self.late.inc(batch.late_runs)
        self.refolded.inc(batch.refolded_versions)
        self.deferred.inc(batch.deferred_transactions)
        self.batches.inc()
        for phase, seconds in batch.seconds.items():
            self.seconds.labels(phase).observe(seconds)
        self.last.set(at)

    def dead_letter_refused(self, _letter: object, _reason: str) -> None:
        """Count a dead letter that its topic refuses in every form."""
        self.refused.inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
