"""Runs with messages on both sides of the horizon: their messages are merged again and the older refused (specification 7)."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_avro.codec import DEFAULT_DECOMPRESSION, Decompression
from headwater_avro.errors import RejectionCode
from headwater_avro.registry import NO_REGISTRY, Schemas
from headwater_avro.signatures import ProducerKeys
from headwater_consumer.kafka.messages import Message, Position
from headwater_consumer.partition import MessageMerger
from headwater_graph.apply.batch_writer import SplitRun
from headwater_graph.rules.coalesce import MergedRow

Reasons = dict[Position, tuple[RejectionCode, str]]
"""The reasons of refused messages: (code, detail) by position."""


def part(
    messages: Iterable[Message],
    split_runs: Iterable[SplitRun],
    schemas: Schemas = NO_REGISTRY,
    decompression: Decompression = DEFAULT_DECOMPRESSION,
    keys: ProducerKeys | None = None,
) -> tuple[list[MergedRow], Reasons]:
    """Return the merged messages of runs that are not older than the runs' bounds, and the reasons of the older ones.

    Raises ServerUnavailable if the schema registry does not answer.
    """
    merger = MessageMerger(schemas, decompression, {run.run_id: run.bound for run in split_runs}, keys)
    refused: Reasons = {}
    for message in messages:
        fault = merger.add(message)
        if fault is not None:
            refused[message.position] = (fault.code, fault.detail)
    return list(merger.coalescer.rows()), refused
