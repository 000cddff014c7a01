"""The home of a stack: its files, and the state of its servers as the last command recorded it."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from headwater_avro.errors import ConfigError

from .files import replace_text
from .process import Process, is_alive

_RESET = "`headwater up --reset` starts without data (it deletes the stack's data)"


@dataclass(frozen=True, slots=True)
class Running:
    """A server as it was last started: its ports (that of clients first) and its process, None if it was stopped."""

    ports: tuple[int, ...]
    process: Process | None


State: TypeAlias = dict[str, Running]
"""Server name to how it was last started."""


@dataclass(frozen=True, slots=True)
class Home:
    """The folders and files of one stack, all under ``<home>/stack``."""

    folder: Path

    @classmethod
    def at(cls, home: Path) -> Home:
        return cls(home.expanduser().absolute() / "stack")

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def password_file(self) -> Path:
        return self.folder / "neo4j-password"

    def server(self, name: str) -> Path:
        return self.folder / name

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def read_state(self) -> State:
        """Return the state that the last command recorded; raise ConfigError if the file is damaged."""
        path = self.folder / "state.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=State)
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as fault:
            raise ConfigError(f"{path} is damaged ({fault}): {_RESET}") from fault

    def read_state_or_nothing(self) -> State:
        """Return the recorded state, or an empty one if the file is damaged."""
        try:
            return self.read_state()
        except ConfigError:
            return {}

    def read_prepared(self) -> frozenset[str]:
        """Return the names of the steps after the first start that are done."""
        path = self.folder / "prepared"
        return frozenset(path.read_text(encoding="ascii").split()) if path.exists() else frozenset()

    def add_prepared(self, step: str) -> None:
        replace_text(self.folder / "prepared", " ".join(sorted({*self.read_prepared(), step})))

    def write_state(self, state: State) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_text(self.folder / "state.json", msgspec.json.encode(state).decode())

    def password(self) -> str:
        """Return Neo4j's password, created at the first call; raise ConfigError if there are data but no password."""
        if not self.password_file.exists():
            if self.server("neo4j").exists():
                raise ConfigError(
                    f"{self.password_file} is missing, and Neo4j's data can't be read without it: {_RESET}"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            # Hexadecimal, so that no tool reads it as an option.
            replace_text(self.password_file, secrets.token_hex(16))
        return self.password_file.read_text(encoding="ascii").strip()

    def wipe(self) -> None:
        """Delete everything except the lock, which the caller holds."""
        for path in self.folder.iterdir() if self.folder.exists() else ():
            if path == self.lock:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def default_home() -> Path:
    """Return the home that commands use: HEADWATER_HOME or ``~/.local/share/headwater``."""
    return Path(os.environ.get("HEADWATER_HOME") or Path.home() / ".local/share/headwater").expanduser().absolute()


def runs(server: Running | None) -> bool:
    """Return whether the process that was started still runs, not another one with its id."""
    return server is not None and server.process is not None and is_alive(server.process)
