"""Runs of which a part lies before the horizon (specification 7): their messages joined again one by one, the older ones refused."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_avro.errors import EventRejected, RejectionCode
from headwater_avro.framing import unframed
from headwater_avro.registry import NO_REGISTRY, Schemas
from headwater_consumer.kafka.messages import Message, Position
from headwater_consumer.partition import headers_of
from headwater_graph.apply.batch_writer import SplitRun
from headwater_graph.rules.coalesce import Coalescer, Row

Reasons = dict[Position, tuple[RejectionCode, str]]
"""Why messages are refused: (code, detail) by their positions."""


def part(
    messages: Iterable[Message], split_runs: Iterable[SplitRun], schemas: Schemas = NO_REGISTRY
) -> tuple[list[Row], Reasons]:
    """Return what is left of the runs' messages, joined, and those that are older than their bounds.

    Raises ServerUnavailable while the schema registry can't tell what a framed message is.
    """
    coalescer = Coalescer({one.run_id: one.bound for one in split_runs})
    refused: Reasons = {}
    for message in messages:
        try:
            coalescer.add(unframed(message.value, schemas), headers_of(message), source=message.position)
        except EventRejected as fault:
            refused[message.position] = (fault.code, fault.detail)
    return list(coalescer.rows()), refused
