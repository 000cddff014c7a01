"""Reading golden cases: `# title:` and `# rule:` lines, remarks, one event per line, `---`, the expected dump."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
SEPARATOR = b"---"


@dataclass(frozen=True, slots=True)
class Case:
    """One rule of the specification by example: raw messages in, the canonical dump (specification 9) out."""

    name: str
    title: str
    rule: str
    messages: list[bytes]
    dump: bytes


def read(path: Path) -> Case:
    """Return the case in a file. Raises ValueError if a head line or the separator is missing."""
    lines = path.read_bytes().splitlines(keepends=True)
    title, rule = (head(path, line, word) for line, word in zip(lines[:2], ("title", "rule"), strict=True))
    stripped = [line.rstrip(b"\n") for line in lines]
    if stripped.count(SEPARATOR) != 1:
        raise ValueError(f"{path.name}: exactly one line {SEPARATOR.decode()} must separate events and dump")
    middle = stripped.index(SEPARATOR)
    messages = [line for line in stripped[2:middle] if not line.startswith(b"#")]
    return Case(path.stem, title, rule, messages, b"".join(lines[middle + 1 :]))


def head(path: Path, line: bytes, word: str) -> str:
    """Return the text of a head line such as `# title: ...`."""
    prefix, _, text = line.decode().rstrip("\n").partition(": ")
    if prefix != f"# {word}" or not text:
        raise ValueError(f"{path.name}: a line '# {word}: ...' is missing")
    return text


def all_cases() -> list[Case]:
    """Return all golden cases, by name."""
    return [read(path) for path in sorted(FOLDER.glob("*.golden"))]
