"""``/api/v1/graph/runs/RUN/events``: the state changes of a run and of the runs below it, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime

from fastapi import APIRouter, Depends, Request, Response
from starlette.types import Receive, Scope, Send

from headwater_avro.errors import HeadwaterError, ServerUnavailable
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import find_run
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.run_states import changed_runs, have_ended, run_states, states_id
from headwater_graph.queries.runs.runs import RunLine

from .graph_api import Context, RunId, only_described
from .listening import STOP_KEY
from .problems import RETRY_SECONDS, problem

THREADS = 4
"""How many reads for streams are made at the same time."""
RECONNECT_MILLISECONDS = 3_000

routes = APIRouter(prefix="/api/v1/graph", tags=["graph"], dependencies=[Depends(only_described)])


class Streams:
    """All streams of a server: at most ``limit``; those of the same run share what is read every ``interval`` seconds.

    A comment is sent every ``heartbeat`` seconds without a change, so that proxies do not close the connection.
    """

    def __init__(self, reader: GraphReader, clock: Callable[[], datetime], limit: int) -> None:
        self.limit, self.interval, self.heartbeat = limit, 1.0, 15.0
        self.open = 0
        self._reader, self._clock = reader, clock
        self._threads = ThreadPoolExecutor(THREADS, "streams")
        self._recent: dict[str, tuple[float, asyncio.Future[list[RunLine]]]] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Count a stream for the duration of the block; only the event loop changes the count."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    async def lines(self, run: Node) -> list[RunLine]:
        """Return a run and the runs below it as they were at most ``interval`` seconds ago; raises as ``run_states``."""
        loop = asyncio.get_running_loop()
        self._recent = {key: each for key, each in self._recent.items() if loop.time() - each[0] < self.interval}
        if run.key not in self._recent:
            reading = loop.run_in_executor(self._threads, lambda: run_states(self._reader, run, self._clock()))
            self._recent[run.key] = loop.time(), reading
        # One listener that leaves does not cancel the read of the others.
        return await asyncio.shield(self._recent[run.key][1])

    async def events(self, run: Node, lines: Sequence[RunLine], stop: asyncio.Event) -> AsyncIterator[str]:
        """Yield events, first one with the states in ``lines``, until all runs have ended or ``stop`` is set."""
        yield f"retry: {RECONNECT_MILLISECONDS}\n\n{event_text('run', lines, lines)}"
        silent = 0.0
        while not have_ended(lines):
            if await _is_set(stop, self.interval):
                return
            before, failure = lines, ""
            try:
                lines = await self.lines(run)
            except ServerUnavailable as fault:
                failure = f": {fault.server} does not answer\n\n"
            except HeadwaterError:
                return
            changed = changed_runs(before, lines)
            silent = 0.0 if changed or failure else silent + self.interval
            if changed:
                yield event_text("run", changed, lines)
            elif failure or silent >= self.heartbeat:
                silent = 0.0
                yield failure or ":\n\n"
        yield event_text("end", [], lines)


class RunStream(Response):
    """A response that follows a run until it has ended, the client leaves or the server stops."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, run: Node, lines: Sequence[RunLine]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._streams, self._run, self._lines = streams, run, lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._streams.open >= self._streams.limit:
            detail = f"this server has {self._streams.limit} streams: try again later, or read the run itself"
            await problem(503, detail, {"Retry-After": str(RETRY_SECONDS)})(scope, receive, send)
            return
        stop = asyncio.Event()
        scope[STOP_KEY] = stop.set
        leaving = asyncio.create_task(_await_end(receive, stop))
        try:
            with self._streams.held():
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                async for text in self._streams.events(self._run, self._lines, stop):
                    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            leaving.cancel()


@routes.get(
    "/runs/{run_id:path}/events",
    status_code=200,
    response_class=RunStream,
    responses={204: {"description": "the runs have ended, and the client has their last states"}},
)
def get_run_events(request: Request, context: Context, run_id: RunId) -> Response:
    """Follow a run and the runs below it: an event `run` with their states, then one for each change, `end` after the last.

    The data are `{"runs": […]}`, lines as in a list of runs. If the runs have ended and the client has their last states
    (`Last-Event-ID`), the answer is 204, so that a browser does not connect again.
    """
    run = find_run(context.reader, run_id)
    lines = run_states(context.reader, run, context.now)
    if have_ended(lines) and request.headers.get("last-event-id") == states_id(lines):
        return Response(status_code=204)
    return RunStream(request.app.state.streams, run, lines)


def event_text(name: str, changed: Sequence[RunLine], lines: Sequence[RunLine]) -> str:
    """Return an event about the ``changed`` of the runs in ``lines``; its id stands for the states of all of them."""
    data = json.dumps({"runs": [line.value() for line in changed]})
    return f"event: {name}\nid: {states_id(lines)}\ndata: {data}\n\n"


async def _is_set(stop: asyncio.Event, seconds: float) -> bool:
    """Return whether an event is set within some seconds."""
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _await_end(receive: Receive, stop: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
    stop.set()
