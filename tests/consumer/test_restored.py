"""A graph that lacks what the checkpoint counts as done is told from one that merely skips offsets without messages."""

from __future__ import annotations

import pytest

from headwater_consumer.messages import KeptMessages, Message
from headwater_consumer.restored import AT_ONCE, GraphBehind, refuse_behind
from headwater_graph.writers import Offsets

TOPIC = "t"


def at(offset: int) -> Message:
    return Message(TOPIC, 0, offset, -1, None, b"{}", ())


COMMITTED: Offsets = {TOPIC: {0: 10, 1: 4}}
ALL = KeptMessages([at(offset) for offset in range(10)])


def test_a_graph_that_has_all_is_let_in() -> None:
    refuse_behind(TOPIC, {TOPIC: {0: 10, 1: 4}}, COMMITTED, ALL)


def test_a_graph_that_is_ahead_is_let_in() -> None:
    refuse_behind(TOPIC, {TOPIC: {0: 11, 1: 9}}, COMMITTED, ALL)


def test_a_graph_that_lacks_one_message_is_refused_and_what_to_do_is_said() -> None:
    with pytest.raises(
        GraphBehind, match=r"partition 0 of t .* before offset 9, .* goes on from 10.* Delete the\s+checkpoint"
    ):
        refuse_behind(TOPIC, {TOPIC: {0: 9, 1: 4}}, COMMITTED, ALL)


def test_offsets_that_hold_no_message_are_no_gap() -> None:
    refuse_behind(TOPIC, {TOPIC: {0: 10, 1: 2}}, COMMITTED, ALL)


def test_a_graph_that_knows_nothing_of_the_topic_is_refused() -> None:
    with pytest.raises(GraphBehind):
        refuse_behind(TOPIC, {"other": {0: 10}}, COMMITTED, ALL)


def test_of_a_partition_that_the_graph_does_not_name_nothing_is_said() -> None:
    refuse_behind(TOPIC, {TOPIC: {1: 4}}, COMMITTED, ALL)


def test_without_a_checkpoint_nothing_is_compared() -> None:
    refuse_behind(TOPIC, {}, {}, ALL)


def test_a_message_far_behind_a_gap_is_found() -> None:
    far = KeptMessages([at(2 * AT_ONCE + 1)])
    with pytest.raises(GraphBehind):
        refuse_behind(TOPIC, {TOPIC: {0: 0}}, {TOPIC: {0: 3 * AT_ONCE}}, far)
