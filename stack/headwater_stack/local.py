"""The local stack: start, stop, status, addresses."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headwater_avro.errors import ConfigError, ServerUnavailable

from .fetch import fetch
from .files import disk_faults, locked
from .home import Home, Running, State, runs
from .kafka_broker import KafkaBroker, make_topics
from .neo4j_server import USER, Neo4jServer
from .process import Process, spawn, stop
from .progress import SILENT, Progress
from .server import LOOPBACK, Place, Server, choose_ports, last_error

_POLL = 0.05
_LOCK_OWNER = "another `headwater up` or `down` to end"


@dataclass(frozen=True, slots=True)
class Addresses:
    """How to reach the servers of a stack."""

    kafka_bootstrap_servers: str
    neo4j_uri: str
    neo4j_user: str
    neo4j_password: str = field(repr=False)
    neo4j_password_file: Path
    kafka_log: Path
    neo4j_log: Path


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server: its process id and address if it runs, and whether it responds."""

    name: str
    title: str
    pid: int | None
    address: str | None
    answers: bool
    log: Path


@dataclass(frozen=True, slots=True)
class Status:
    """The stack of one home."""

    home: Path
    servers: tuple[ServerStatus, ...]

    @property
    def is_up(self) -> bool:
        """Whether every server responds."""
        return all(server.answers for server in self.servers)


Ports = Mapping[str, int | None]
"""The port that a server shall listen on, by the server's name; None: any."""

Prepare = Callable[[Addresses], None]
"""Called when both servers respond for the first time; creates the graph schema, for example."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Kafka and Neo4j in one home; ``servers`` are these two, or fakes in tests.

    A server has ``start_timeout`` seconds to respond, and ``stop_patience`` seconds to end before it is killed.
    """

    home: Home
    servers: tuple[Server, ...] = (KafkaBroker(), Neo4jServer())
    topics: Callable[[str], None] = make_topics
    start_timeout: float = 180.0
    stop_patience: float = 30.0

    def up(self, wanted: Ports, reset: bool, progress: Progress, prepare: Prepare | None) -> Addresses:
        """Start the servers that do not run, wait until they respond, create topics, call ``prepare``."""
        with self._held(progress):
            if reset:
                self._stop(self.home.read_state_or_nothing(), progress)
                self.home.wipe()
            before = self.home.read_state()
            self._refuse_other_ports(before, wanted)
            try:
                state = self._bring_up(before, wanted, progress)
            except BaseException:
                # Servers that this call started are stopped, because they can't be used.
                now = self.home.read_state()
                self._stop({name: now[name] for name in now if now[name] != before.get(name)}, SILENT)
                raise
            return self._prepare(state, prepare, progress)

    def down(self, progress: Progress) -> bool:
        """Stop every server; return whether any ran."""
        if not self.home.folder.exists():
            return False
        with self._held(progress):
            return self._stop(self.home.read_state(), progress)

    def status(self) -> Status:
        """Return the status of each server; connects to those that run."""
        state = self.home.read_state()
        servers = tuple(self._status(server, state.get(server.name)) for server in self.servers)
        return Status(self.home.folder.parent, servers)

    def addresses(self) -> Addresses | None:
        """Return the addresses if the processes run, without connecting to them."""
        state = self.home.read_state()
        if not all(runs(state.get(server.name)) for server in self.servers):
            return None
        return self._addresses(state)

    @contextmanager
    def _held(self, progress: Progress) -> Iterator[None]:
        with disk_faults(self.home.folder, "--home or HEADWATER_HOME"), locked(self.home.lock, progress, _LOCK_OWNER):
            yield

    def _refuse_other_ports(self, state: State, wanted: Ports) -> None:
        for server in self.servers:
            known, port = state.get(server.name), wanted.get(server.name)
            if known is not None and runs(known) and port not in (None, known.ports[0]):
                raise ConfigError(f"{server.title} runs at port {known.ports[0]} already: `headwater down` stops it")

    def _bring_up(self, before: State, wanted: Ports, progress: Progress) -> State:
        state = self._start(before, wanted, progress)
        while not self._await(state, before, progress):
            # A server that ran has ended meanwhile, as a server does that was just killed.
            state = self._start(state, wanted, progress)
        return state

    def _start(self, state: State, wanted: Ports, progress: Progress) -> State:
        missing = [server for server in self.servers if not runs(state.get(server.name))]
        # Before the first start, so that no server is started in vain if the jars of another are not available.
        fetch([group for server in missing for group in server.groups], progress=progress)
        for server in missing:
            last = state[server.name].ports if server.name in state else ()
            option = f"--{server.name}-port"
            ports = choose_ports(server.title, server.port_count, wanted.get(server.name), last, option)
            process = self._start_server(server, self._place(server, ports), progress)
            state = {**state, server.name: Running(ports, process)}
            self.home.write_state(state)
        return state

    def _start_server(self, server: Server, place: Place, progress: Progress) -> Process:
        jars = fetch(server.groups)
        progress.say(f"starting {server.title} at {place.address}")
        server.install(place, jars)
        return spawn(server.command(place, jars), self.home.log(server.name), os.environ)

    def _await(self, state: State, before: State, progress: Progress) -> bool:
        """Wait until every server responds; return False if a server that this call did not start has ended."""
        began = time.monotonic()
        waiting = list(self.servers)
        with progress.waiting(" and ".join(server.title for server in waiting)):
            while waiting:
                for server in tuple(waiting):
                    running, seconds = state[server.name], time.monotonic() - began
                    if server.answers(self._place(server, running.ports)):
                        progress.say(f"{server.title} answers after {seconds:.1f} s")
                        waiting.remove(server)
                    elif running == before.get(server.name) and not runs(running):
                        return False
                    else:
                        self._check(server, running, seconds)
                time.sleep(_POLL if waiting else 0)
        return True

    def _check(self, server: Server, running: Running, seconds: float) -> None:
        if runs(running) and seconds < self.start_timeout:
            return
        log = self.home.log(server.name)
        what = f"does not respond after {seconds:.0f} s" if runs(running) else "ended"
        address = self._place(server, running.ports).address
        raise ServerUnavailable(server.title, address, f"it {what}: {last_error(log)} (log: {log})")

    def _prepare(self, state: State, prepare: Prepare | None, progress: Progress) -> Addresses:
        addresses = self._addresses(state)
        # Each step is recorded separately: the next `up` may have a `prepare` that this one does not have.
        steps: dict[str, Callable[[], None]] = {"topics": lambda: self.topics(addresses.kafka_bootstrap_servers)}
        if prepare is not None:
            steps["graph"] = lambda: prepare(addresses)
        for name, step in steps.items():
            if name not in self.home.read_prepared():
                with progress.waiting(name):
                    step()
                self.home.add_prepared(name)
        return addresses

    def _stop(self, state: State, progress: Progress) -> bool:
        running = {name: known for name, known in state.items() if runs(known)}
        if running:
            with progress.waiting("the servers to end"):
                stop([known.process for known in running.values() if known.process], self.stop_patience)
        stopped = {name: Running(known.ports, None) for name, known in state.items()}
        if stopped:
            self.home.write_state({**self.home.read_state_or_nothing(), **stopped})
        return bool(running)

    def _place(self, server: Server, ports: tuple[int, ...]) -> Place:
        return Place(self.home.server(server.name), ports, self.home.password())

    def _addresses(self, state: State) -> Addresses:
        return Addresses(
            kafka_bootstrap_servers=f"{LOOPBACK}:{state['kafka'].ports[0]}",
            neo4j_uri=f"bolt://{LOOPBACK}:{state['neo4j'].ports[0]}",
            neo4j_user=USER,
            neo4j_password=self.home.password(),
            neo4j_password_file=self.home.password_file,
            kafka_log=self.home.log("kafka"),
            neo4j_log=self.home.log("neo4j"),
        )

    def _status(self, server: Server, running: Running | None) -> ServerStatus:
        log = self.home.log(server.name)
        if running is None or not runs(running) or running.process is None:
            return ServerStatus(server.name, server.title, None, None, answers=False, log=log)
        place = self._place(server, running.ports)
        return ServerStatus(
            server.name, server.title, running.process.pid, place.address, answers=server.answers(place), log=log
        )
