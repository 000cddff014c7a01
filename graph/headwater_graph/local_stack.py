"""Where the Neo4j of the local stack is: what `headwater up` recorded of the servers that it started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from headwater_avro.errors import ConfigError

from .processes import Process, is_alive

SERVERS = ("kafka", "neo4j")
USER = "neo4j"
STATE_FILE = "state.json"
PASSWORD_FILE = "neo4j-password"  # noqa: S105 - the name of a file
RESET = "`headwater up --reset` starts without data (it deletes the stack's data)"


@dataclass(frozen=True, slots=True)
class Running:
    """A server as it was last started: its ports (that of clients first) and its process, None if it was stopped."""

    ports: tuple[int, ...]
    process: Process | None


State: TypeAlias = dict[str, Running]
"""Server name to how it was last started."""


def stack_folder(home: Path) -> Path:
    """Return the folder of the stack of a home."""
    return home.expanduser().absolute() / "stack"


def read_state(folder: Path) -> State:
    """Return the state that the last command recorded; raise ConfigError if the file is damaged."""
    path = folder / STATE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except FileNotFoundError:
        return {}
    except msgspec.MsgspecError as fault:
        raise ConfigError(f"{path} is damaged ({fault}): {RESET}") from fault


def neo4j_of_stack(home: Path) -> dict[str, str]:
    """Return ``uri``, ``user`` and ``password`` of the Neo4j of a home, nothing unless all of its servers run.

    It does not connect to them. Raises ConfigError if the recorded state is damaged.
    """
    folder = stack_folder(home)
    state = read_state(folder)
    if not all(runs(state.get(server)) for server in SERVERS):
        return {}
    password = (folder / PASSWORD_FILE).read_text(encoding="ascii").strip()
    return {"uri": f"bolt://127.0.0.1:{state['neo4j'].ports[0]}", "user": USER, "password": password}


def default_home() -> Path:
    """Return the home that commands use: HEADWATER_HOME or ``~/.local/share/headwater``."""
    return Path(os.environ.get("HEADWATER_HOME") or Path.home() / ".local/share/headwater").expanduser().absolute()


def runs(server: Running | None) -> bool:
    """Return whether the process that was started still runs, not another one with its id."""
    return server is not None and server.process is not None and is_alive(server.process)
