"""What the ring of fault schedules says after a consumer: nothing if all is right, and each thing that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..end_to_end.consuming import Room
from ..servers import Servers
from ..store.empty import emptied, opened
from .ring import caught_up, wrong
from .schedule import schedule


@pytest.mark.end_to_end
def test_missing_messages_lost_dead_letters_and_a_damaged_graph_are_found(
    servers: Servers, topic: str, tmp_path: Path
) -> None:
    room = Room(servers, topic, tmp_path)
    messages = schedule(0).messages
    with opened(servers) as store:
        emptied(store)
        room.publish(messages)
        assert caught_up(room) == []
        assert wrong(room, messages) == []
        others = [message for message in messages if message not in messages[:50]]
        assert {fault.partition(":")[0] for fault in wrong(room, others)} == {"dump", "dead letters"}
        store.driver.execute_query("MATCH ()-[edge:FEEDS]->() WITH edge LIMIT 5 DELETE edge")
        assert "graph check" in {fault.partition(":")[0] for fault in wrong(room, messages)}
