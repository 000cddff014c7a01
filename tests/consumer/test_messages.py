"""The bounds of a partition, while nobody leads it and when Kafka has another fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headwater_consumer.kafka import messages
from headwater_consumer.kafka.messages import bounds_of

PLACE = TopicPartition("t", 0)


class AnsweringClient:
    """A consumer whose broker fails in these ways before it answers."""

    def __init__(self, *codes: int) -> None:
        self._codes: Iterator[int] = iter(codes)

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
        for code in self._codes:
            raise KafkaException(KafkaError(code))
        return 3, 9


def bounds(*codes: int) -> tuple[int, int]:
    wanted: Any = AnsweringClient(*codes)
    return bounds_of(wanted, PLACE)


def test_a_request_is_repeated_while_a_partition_has_no_leader() -> None:
    assert bounds(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE) == (3, 9)


def test_the_request_is_not_repeated_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "SILENCE", 0.0)
    with pytest.raises(KafkaException):
        bounds(*[KafkaError.NOT_LEADER_FOR_PARTITION] * 3)


def test_any_other_error_is_raised_at_once() -> None:
    with pytest.raises(KafkaException):
        bounds(KafkaError.TOPIC_AUTHORIZATION_FAILED)
