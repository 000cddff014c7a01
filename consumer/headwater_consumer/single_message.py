"""The tagged rows of a single message that this process reads itself, with no part in Spark.

Spark's Java holds a message in six copies on its way from Kafka to a Python worker, and its heap is limited. Here the limit
is the memory of the process. The rows are those that a task would return.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from headwater_avro.codec import Decompression
from headwater_avro.registry import RegistrySettings, schemas_of
from headwater_avro.signatures import ProducerKeys
from headwater_consumer.kafka.messages import Message
from headwater_consumer.partition import TAGGED, PartitionLimits, tag_messages

Find: TypeAlias = Callable[[], Message | None]
"""Returns the message, or None if there is none; raises ServerUnavailable if Kafka does not answer."""


class FirstMessage:
    """A frame as ``BatchProcessor.read`` takes it: the first message of a range, which is read when the frame is."""

    def __init__(
        self,
        find: Find,
        decompression: Decompression,
        registry: RegistrySettings | None,
        keys: ProducerKeys | None = None,
    ) -> None:
        self._find = find
        # A task that stops behind its first message reports that there may be more.
        self._limits = PartitionLimits(decompression=decompression, task=0, keys=keys)
        self._registry = registry

    def toArrow(self) -> pa.Table:
        """Return the tagged rows, none if the message does not exist. Raises ServerUnavailable."""
        message = self._find()
        schemas = schemas_of(self._registry) if self._registry is not None else None
        found = [] if message is None else [message]
        return pa.Table.from_batches(tag_messages(found, self._limits, schemas), TAGGED)
