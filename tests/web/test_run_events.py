"""Runs followed as server-sent events: changes, the end, limits, and a server that stops."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from http.client import HTTPResponse
from typing import Any

import neo4j
import pytest
from fastapi import FastAPI

from headwater_avro.errors import ServerUnavailable
from headwater_graph.queries.answers import Node
from headwater_graph.queries.runs.run_states import changed_runs, have_ended, states_id
from headwater_graph.queries.runs.runs import RunLine
from headwater_web import MemorySink, WebSettings, create_app

from ..given_answers import GivenAnswers
from ..queries.graph_maker import GraphMaker
from .raw import PATIENCE, sent, serving

GRAPH = "/api/v1/graph"
NOW = datetime(2026, 2, 1, tzinfo=UTC)


class Runs:
    """A run with a child, whose states a test changes; ``failures`` reads fail before the next answer."""

    def __init__(self, **states: str) -> None:
        self.states = {"parent": "RUNNING"} | states
        self.failures = 0
        self.reads = 0

    def app(self, **given: int) -> FastAPI:
        answers = GivenAnswers(
            {"runs/by_key": self._by_key, "runs/nodes": self._nodes, "runs/children": self._children}
        )
        app = create_app(answers, MemorySink(), WebSettings(**given), lambda: NOW)  # type: ignore[arg-type]
        app.state.streams.interval = 0.01
        return app

    def _by_key(self, key: str) -> list[dict[str, Any]]:
        return [{"key": "parent", "id": "parent"}]

    def _nodes(self, keys: list[str]) -> list[dict[str, Any]]:
        self.reads += 1
        if self.failures:
            self.failures -= 1
            raise ServerUnavailable("Neo4j", "bolt://localhost", "start it")
        return [self._row("parent")]

    def _children(self, keys: list[str], limit: int) -> list[dict[str, Any]]:
        return [self._row(name) | {"at": "parent"} for name in self.states if keys == ["parent"] and name != "parent"]

    def _row(self, name: str) -> dict[str, Any]:
        absent = ("namespace", "name", "startedAt", "endedAt", "lastEventAt", "streaming", "placeholder", "removed")
        return {
            "key": name, "id": name, "state": self.states[name], "lineageUnknown": None, "conflicts": None,
        } | dict.fromkeys(absent)  # fmt: skip


class Stream:
    """The events of an open response, one at a time."""

    def __init__(self, response: HTTPResponse) -> None:
        self.response = response
        self.last_id = ""

    def lines(self) -> list[str]:
        """The lines up to the next empty one; none at the end."""
        found: list[str] = []
        while line := self.response.readline().decode().rstrip("\n"):
            found.append(line)
        return found

    def event(self) -> tuple[str, dict[str, str]]:
        """The name of the next event, and the states of its runs; comments are skipped."""
        fields = [line.partition(":")[::2] for line in self.lines()]
        values = {name: text.strip() for name, text in fields if name}
        if not fields:
            return "", {}
        if "event" not in values:
            return self.event()
        self.last_id = values["id"]
        return values["event"], {run["id"]: run["state"] for run in json.loads(values["data"])["runs"]}


@contextmanager
def following(port: int, run: str = "parent", *headers: str) -> Iterator[Stream]:
    head = "\r\n".join([f"GET {GRAPH}/runs/{run}/events HTTP/1.1", "Host: localhost", *headers, "", ""])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode())
        with closing(HTTPResponse(connection)) as response:
            response.begin()
            yield Stream(response)


def test_changes_are_sent_until_all_runs_have_ended() -> None:
    runs = Runs(child="RUNNING")
    with serving(runs.app()) as port, following(port) as stream:
        assert stream.response.status == 200
        assert stream.response.headers["Content-Type"].startswith("text/event-stream")
        assert stream.event() == ("run", {"parent": "RUNNING", "child": "RUNNING"})
        runs.states["child"] = "FAIL"
        assert stream.event() == ("run", {"child": "FAIL"})
        runs.states |= {"other": "COMPLETE"}
        assert stream.event() == ("run", {"other": "COMPLETE"})
        runs.states["parent"] = "COMPLETE"
        assert stream.event() == ("run", {"parent": "COMPLETE"})
        assert stream.event() == ("end", {})
        assert stream.event() == ("", {})


def test_a_browser_that_has_the_last_states_does_not_connect_again() -> None:
    runs = Runs(parent="COMPLETE")
    with serving(runs.app()) as port:
        with following(port) as stream:
            assert stream.event() == ("run", {"parent": "COMPLETE"})
            assert stream.event() == ("end", {})
        with following(port, "parent", f"Last-Event-ID: {stream.last_id}") as again:
            assert again.response.status == 204
        runs.states["parent"] = "FAIL"
        with following(port, "parent", f"Last-Event-ID: {stream.last_id}") as other:
            assert other.event() == ("run", {"parent": "FAIL"})


def test_while_nothing_changes_comments_are_sent() -> None:
    app = Runs().app()
    app.state.streams.heartbeat = 0.03
    with serving(app) as port, following(port) as stream:
        stream.event()
        assert stream.lines() == [":"]
        assert stream.lines() == [":"]


def test_a_stream_survives_a_graph_that_does_not_answer() -> None:
    runs = Runs()
    with serving(runs.app()) as port, following(port) as stream:
        stream.event()
        runs.failures = 2
        assert stream.lines() == [": Neo4j does not answer"]
        runs.states["parent"] = "COMPLETE"
        assert stream.event() == ("run", {"parent": "COMPLETE"})


def test_streams_have_a_limit_and_an_ended_one_makes_room() -> None:
    app = Runs().app(streams=1)
    with serving(app) as port:
        with following(port) as stream:
            stream.event()
            status, body = sent(port, f"{GRAPH}/runs/parent/events", "Host: localhost")
            assert (status, b"1 streams" in body) == (503, True)
        while app.state.streams.open:
            sent(port, "/healthz")
        with following(port) as other:
            assert other.event()[0] == "run"


def test_a_server_that_stops_ends_its_streams() -> None:
    with ExitStack() as opened:
        with serving(Runs().app()) as port:
            stream = opened.enter_context(following(port))
            assert stream.event()[0] == "run"
        # `serving` has waited for the server, which waits for its responses.
        assert stream.event() == ("", {})


async def _read_twice(app: FastAPI) -> None:
    run = Node("parent", "run", ("parent",))
    await asyncio.gather(app.state.streams.lines(run), app.state.streams.lines(run))
    await app.state.streams.lines(run)


def test_listeners_of_one_run_share_what_is_read() -> None:
    runs = Runs()
    app = runs.app()
    app.state.streams.interval = 600.0
    asyncio.run(_read_twice(app))
    assert runs.reads == 1


def test_an_unknown_run_is_not_followed() -> None:
    app = create_app(GivenAnswers(), MemorySink(), WebSettings())
    with serving(app) as port:
        assert sent(port, f"{GRAPH}/runs/nothing/events", "Host: localhost")[0] == 404


def line_of(run: str, state: str | None, *status: str, seconds: float = 0.0, heard: str = "") -> RunLine:
    return RunLine(run, None, state, None, None, heard, seconds, status)


def test_a_longer_duration_is_no_change_and_a_status_is_one() -> None:
    before = [line_of("a", "RUNNING", seconds=1.0, heard="1"), line_of("b", "RUNNING")]
    after = [line_of("a", "RUNNING", seconds=2.0, heard="2"), line_of("b", "RUNNING", "silent"), line_of("c", "NEW")]
    assert [line.id for line in changed_runs(before, after)] == ["b", "c"]
    assert states_id(before) == states_id([line_of("b", "RUNNING"), line_of("a", "RUNNING", seconds=9.0)])
    assert states_id(before) != states_id(after)


@pytest.mark.parametrize(
    ("states", "ended"),
    [(["COMPLETE", "FAIL", "ABORT"], True), (["COMPLETE", "RUNNING"], False), (["NEW"], False), ([None], False)],
)
def test_a_run_has_ended_if_its_last_state_is_an_end(states: list[str | None], ended: bool) -> None:
    assert have_ended([line_of(str(number), state) for number, state in enumerate(states)]) is ended


def test_a_run_of_a_real_graph_is_followed(address: str, maker: GraphMaker, driver: neo4j.Driver) -> None:
    run = maker.open_run("load", f"{maker.namespace}-run", hour=700)
    child = maker.open_run("part", f"{maker.namespace}-child", hour=700)
    maker.child(child, run)
    maker.store(driver)
    with following(int(address.rpartition(":")[2]), run) as stream:
        assert stream.event() == ("run", {run: "RUNNING", child: "RUNNING"})
        driver.execute_query("MATCH (r:Run {id: $id}) SET r.state = 'COMPLETE'", id=child)
        assert stream.event() == ("run", {child: "COMPLETE"})
        driver.execute_query("MATCH (r:Run {id: $id}) SET r.state = 'FAIL'", id=run)
        assert stream.event() == ("run", {run: "FAIL"})
        assert stream.event() == ("end", {})
