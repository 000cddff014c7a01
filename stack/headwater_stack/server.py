"""The interface of the servers of a stack, and functions for their ports and logs."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headwater_avro.errors import ConfigError, ServerUnavailable

LOOPBACK = "127.0.0.1"
_CONNECT = 0.5
_TOOL = 120.0
_ERROR_LINE = re.compile(r"\b(ERROR|FATAL|[Ee]rror:)|Exception\b|No space left|Could not")


@dataclass(frozen=True, slots=True)
class Place:
    """A server's folder, its ports (that of clients first) and Neo4j's password."""

    folder: Path
    ports: tuple[int, ...]
    password: str

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.ports[0]}"


class Server(Protocol):
    """A server that the stack starts and stops."""

    @property
    def name(self) -> str:
        """Its name in files and state."""

    @property
    def title(self) -> str:
        """Its name in messages."""

    @property
    def groups(self) -> Sequence[str]:
        """The groups of jars that it needs."""

    @property
    def port_count(self) -> int:
        """The number of ports that it listens on."""

    def install(self, place: Place, jars: Sequence[Path]) -> None:
        """Write its settings, and at the first call the other files that it needs to start."""

    def command(self, place: Place, jars: Sequence[Path]) -> Sequence[str]:
        """Return the command that runs it."""

    def answers(self, place: Place) -> bool:
        """Return whether it serves clients."""


def is_open(port: int) -> bool:
    """Return whether a program listens on a port of the loopback address."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=_CONNECT):
            return True
    except OSError:
        return False


def choose_ports(title: str, count: int, wanted: int | None, last: tuple[int, ...], option: str) -> tuple[int, ...]:
    """Return ``count`` ports: the ``wanted`` one first, then those of the ``last`` start that are free, then other free ones.

    Raises ConfigError if the wanted one is in use.
    """
    if wanted is not None and not _is_free(wanted):
        message = (
            f"port {wanted} is in use by another program: give {title} another one with {option}, or omit the option"
        )
        raise ConfigError(message)
    ports = [wanted] if wanted is not None else []
    ports += [port for port in last[len(ports) : count] if port != wanted and _is_free(port)]
    return (*ports, *_free_ports(count - len(ports)))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: closing connections of an earlier server do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except (OSError, OverflowError):
            return False
    return True


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def run_tool(title: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
    """Run a tool of a server; raise ServerUnavailable with its last error line if it fails."""
    with log.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=output, env=environment, timeout=_TOOL, check=False)
    if done.returncode != 0:
        raise ServerUnavailable(title, "its own tool", f"{last_error(log)} (log: {log})")


def last_error(log: Path) -> str:
    """Return the line of a log that best explains why the server ended: its last error, else its last line."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.search(line)]
    return (errors or lines or ["it ended without a message"])[-1]
