"""The consumer's status over HTTP: ``/healthz``, ``/readyz``, ``/metrics``.

``/healthz`` fails if the process should be restarted; ``/readyz`` fails while the process can't do its work for a reason
that a restart would not change: an unavailable server, or another writer that holds the graph's lock.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, TypeAlias

from headwater_avro.errors import ConfigError
from headwater_consumer.monitoring.metrics import BatchSummary, Metrics

Phase: TypeAlias = Literal["starting", "running", "waiting", "stuck", "stopping", "failed"]

STALLED = 300.0
"""Seconds without a sign of life after which the stream counts as stalled."""


PROGRESS_TIMEOUT = 300.0
"""Seconds without progress after which the work under way is stuck."""


@dataclass(frozen=True, slots=True)
class State:
    """The consumer's state; times are Unix times, ``offsets`` the offsets written, by topic and partition.

    ``lost`` is the number of offsets that Kafka had deleted before they were in the graph.
    """

    phase: Phase = "starting"
    reason: str | None = None
    since: float = 0.0
    holder: str | None = None
    batch: int | None = None
    written_at: float | None = None
    offsets: dict[str, dict[int, int]] | None = None
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Lag:
    """Messages of each ``topic/partition`` not yet in the graph: when a batch is handed over, and when it is written."""

    batch: int
    handed_over: Mapping[str, int]
    written: Mapping[str, int]


@dataclass(slots=True, eq=False)
class _Work:
    """What a thread is doing, and when it last made progress."""

    what: str
    since: float


class Status:
    """The state as it changes, for all threads; work that makes no progress for ``patience`` seconds is stuck."""

    def __init__(
        self, metrics: Metrics, clock: Callable[[], float] = time.time, *, patience: float = PROGRESS_TIMEOUT
    ) -> None:
        self._metrics = metrics
        self._patience = patience
        self._work: list[_Work] = []
        self._clock = clock
        self._lock = threading.Lock()
        self._state = State(since=clock())
        self._sign_of_life = clock()
        self._lag = Lag(-1, {}, {})

    @property
    def state(self) -> State:
        """What the consumer is doing; ``stuck`` instead of running where the work under way makes no progress."""
        stuck = self.stuck() if self._state.phase == "running" else None
        return self._state if stuck is None else replace(self._state, phase="stuck", reason=stuck)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Within this, ``what`` is under way, and is to make progress."""
        work = _Work(what, self._clock())
        with self._lock:
            self._work.append(work)
        try:
            yield
        finally:
            with self._lock:
                self._work.remove(work)

    def progressed(self) -> None:
        """Note that the work under way made progress."""
        with self._lock:
            for work in self._work:
                work.since = self._clock()

    def under_way(self) -> list[str]:
        """Return what is under way."""
        with self._lock:
            return [work.what for work in self._work]

    def stuck(self) -> str | None:
        """Return which work has made no progress for how long, None where all work moves."""
        with self._lock:
            oldest = min(self._work, key=lambda work: work.since, default=None)
        quiet = self._clock() - oldest.since if oldest else 0.0
        return f"{oldest.what}: no progress for {quiet:.0f} s" if oldest and quiet > self._patience else None

    def enter(self, phase: Phase, reason: str | None = None) -> bool:
        """Enter a phase; return whether the phase or its reason changed."""
        self.alive()
        with self._lock:
            before = self._state
            if (before.phase, before.reason) == (phase, reason):
                return False
            self._state = replace(before, phase=phase, reason=reason, since=self._clock())
        self._metrics.waiting.set(phase == "waiting")
        return True

    def alive(self) -> None:
        """Record a sign of life."""
        self._sign_of_life = self._clock()

    def silence(self) -> float:
        """Return the seconds since the last sign of life."""
        return self._clock() - self._sign_of_life

    def moved(self, lag: Lag | None) -> None:
        """Record that Spark has looked for messages, and the lag; None: there was nothing new."""
        self.alive()
        if self._state.phase == "waiting":
            self.enter("running")
        self._lag = lag or self._lag
        self._update_lag()

    def _update_lag(self) -> None:
        batch, lag = self._state.batch, self._lag
        is_written = batch is not None and batch >= lag.batch
        for partition, messages in (lag.written if is_written else lag.handed_over).items():
            self._metrics.lag.labels(partition).set(messages)

    def held_by(self, holder: str | None) -> None:
        """Record who holds the lock on the graph's Writer node."""
        with self._lock:
            self._state = replace(self._state, holder=holder)

    def lost(self, offsets: int) -> None:
        """Record the number of offsets that are lost."""
        with self._lock:
            self._state = replace(self._state, lost=offsets)
        self._metrics.lost.set(offsets)

    def batch_written(self, batch: BatchSummary) -> None:
        """Record a batch that is in the graph."""
        at = self._clock()
        self._metrics.batch_written(batch, at)
        with self._lock:
            self._state = replace(self._state, batch=batch.batch_id, written_at=at, offsets=batch.offsets)
        self.enter("running")
        self._update_lag()

    def is_healthy(self) -> bool:
        return self._state.phase != "failed" and self.silence() < STALLED

    def is_ready(self) -> bool:
        return self.state.phase == "running"


class HealthServer:
    """The HTTP server, on its own threads; port 0 selects a free port."""

    def __init__(self, status: Status, metrics: Metrics, host: str, port: int) -> None:
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(status, metrics))
        except OSError as fault:
            raise ConfigError(f"the health port {host}:{port} can't be opened: {fault.strerror}") from fault
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="headwater-health", daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> HealthServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(status: Status, metrics: Metrics) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/metrics":
                    self._answer(200, "text/plain; version=0.0.4; charset=utf-8", metrics.text())
                case "/healthz":
                    self._answer_state(healthy=status.is_healthy())
                case "/readyz":
                    self._answer_state(healthy=status.is_ready())
                case _:
                    self._answer(404, "text/plain", b"/healthz /readyz /metrics\n")

        def _answer_state(self, *, healthy: bool) -> None:
            text = json.dumps({"ok": healthy} | asdict(status.state)) + "\n"
            self._answer(200 if healthy else 503, "application/json", text.encode())

        def _answer(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep probes out of the log."""

    return Handler
