"""A consumer that waits for another writer says so, and for whom."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from headwater_avro.errors import ServerUnavailable
from headwater_consumer.monitoring.health import HealthServer, Status
from headwater_consumer.monitoring.lock_watch import reporting_lock_holder
from headwater_consumer.monitoring.metrics import Metrics
from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.store.neo4j_store import Neo4jStore

from ..servers import Servers
from ..store.empty import emptied, opened


def until(reached: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < give_up, "not reached in time"
        time.sleep(0.02)


def ready(port: int) -> tuple[int, dict[str, Any]]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            return answer.status, json.load(answer)
    except HTTPError as fault:
        return fault.code, json.load(fault)


def test_the_lock_holder_is_reported_while_there_is_one() -> None:
    answers: Iterator[Any] = iter([None, "other", "other", ServerUnavailable("Neo4j", "x", "gone"), None])
    seen: list[tuple[str, str | None]] = []
    status = Status(Metrics())
    status.enter("running")
    over = threading.Event()

    def held_by() -> str | None:
        seen.append((status.state.phase, status.state.holder))
        answer = next(answers, "over")
        if answer == "over":
            over.set()
            return None
        if isinstance(answer, Exception):
            raise answer
        return str(answer) if answer else None

    with reporting_lock_holder(status, held_by, every=0.001):
        assert over.wait(30)
    assert seen[:6] == [
        ("running", None),
        ("running", None),
        ("waiting", "other"),
        ("waiting", "other"),
        ("waiting", "other"),
        ("running", None),
    ]
    assert status.state.holder is None


@pytest.mark.end_to_end
def test_a_waiting_writer_names_the_lock_holder(servers: Servers) -> None:
    metrics = Metrics()
    status = Status(metrics)
    status.enter("running")
    with opened(servers) as graph, HealthServer(status, metrics, "127.0.0.1", 0) as server:
        emptied(graph)
        first, other = (Neo4jStore(graph.settings, holder=name) for name in ("one:1", "other:2"))

        def apply() -> None:
            with reporting_lock_holder(status, first.held_by, every=0.05):
                GraphWriter(first).apply([], BatchPosition("q", 0, {}))

        with first, other:
            waiting = threading.Thread(target=apply)
            with other.transaction():
                waiting.start()
                until(lambda: status.state.holder is not None)
                code, answer = ready(server.port)
                assert (code, answer["phase"], answer["holder"]) == (503, "waiting", "other:2")
                assert "other:2" in answer["reason"]
                assert waiting.is_alive()
            waiting.join(30)
            assert not waiting.is_alive()
            assert status.state.holder is None
            assert first.held_by() is None
