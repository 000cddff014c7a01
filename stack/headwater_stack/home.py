"""The home of a stack: its files, and the state of its servers as the last command recorded it."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headwater_avro.errors import ConfigError
from headwater_graph.local_stack import (
    PASSWORD_FILE,
    RESET,
    STATE_FILE,
    Running,
    State,
    default_home,
    read_state,
    runs,
    stack_folder,
)

from .files import replace_text

__all__ = ["Home", "Running", "State", "default_home", "runs"]


@dataclass(frozen=True, slots=True)
class Home:
    """The folders and files of one stack, all under ``<home>/stack``."""

    folder: Path

    @classmethod
    def at(cls, home: Path) -> Home:
        return cls(stack_folder(home))

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def password_file(self) -> Path:
        return self.folder / PASSWORD_FILE

    def server(self, name: str) -> Path:
        return self.folder / name

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def read_state(self) -> State:
        """Return the state that the last command recorded; raise ConfigError if the file is damaged."""
        return read_state(self.folder)

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
        replace_text(self.folder / STATE_FILE, msgspec.json.encode(state).decode())

    def password(self) -> str:
        """Return Neo4j's password, created at the first call; raise ConfigError if there are data but no password."""
        if not self.password_file.exists():
            if self.server("neo4j").exists():
                raise ConfigError(
                    f"{self.password_file} is missing, and Neo4j's data can't be read without it: {RESET}"
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
