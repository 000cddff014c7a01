"""Runs of which a part lies before the horizon (specification 7): their messages joined again one by one, the older ones refused."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_avro.codec import DEFAULT_DECOMPRESSION, Decompression
from headwater_avro.errors import RejectionCode
from headwater_avro.registry import NO_REGISTRY, Schemas
from headwater_consumer.kafka.messages import Message, Position
from headwater_consumer.partition import Joining
from headwater_graph.apply.batch_writer import SplitRun
from headwater_graph.rules.coalesce import MergedRow

Reasons = dict[Position, tuple[RejectionCode, str]]
"""Why messages are refused: (code, detail) by their positions."""


def part(
    messages: Iterable[Message],
    split_runs: Iterable[SplitRun],
    schemas: Schemas = NO_REGISTRY,
    decompression: Decompression = DEFAULT_DECOMPRESSION,
) -> tuple[list[MergedRow], Reasons]:
    """Return what is left of the runs' messages, joined, and those that are older than their bounds.

    Raises ServerUnavailable while the schema registry can't tell what a framed message is.
    """
    joining = Joining(schemas, decompression, {one.run_id: one.bound for one in split_runs})
    refused: Reasons = {}
    for message in messages:
        fault = joining.add(message)
        if fault is not None:
            refused[message.position] = (fault.code, fault.detail)
    return list(joining.coalescer.rows()), refused
