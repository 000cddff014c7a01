"""The delivery status of a Kafka message, for the emitter and for the HTTP gateway: which errors are permanent."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

DeliveryStatus: TypeAlias = Literal["delivered", "unavailable", "refused"]
"""``unavailable``: the same message may succeed later; ``refused``: Kafka never accepts it as it is."""

PERMANENT_ERRORS = frozenset(("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "INVALID_MSG"))
"""Names of the ``KafkaError`` codes that the same message causes at every attempt.

A dead letter, which is sent unchanged with its headers and time, has more of them: ``REFUSED`` in the consumer's
``kafka/dead_letters.py``.
"""


def delivery_status(error: Any) -> DeliveryStatus:
    """Return the status that a delivery report stands for; ``error`` is its ``KafkaError``, None after success."""
    if error is None:
        return "delivered"
    return "refused" if error.name() in PERMANENT_ERRORS else "unavailable"
