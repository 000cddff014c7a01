"""Files of secrets with a line for each: what servers know of tokens, and the keys of producers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .errors import ConfigError

_MODE = 0o600


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, without empty ones and comments (``#``).

    Raises OSError, UnicodeDecodeError.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, which only its owner can read if it is new; raises ConfigError."""
    try:
        path.touch(mode=_MODE)
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as fault:
        raise ConfigError(f"{path} can't be written: {fault.strerror}") from fault
