"""The jar lock: the jars that the stack and Spark jobs need, with version, size and SHA-256.

``jars.lock`` holds one section per group; each line is ``group:artifact:version[:classifier] size sha256``. It contains
no address: a setting says where jars come from. ``python -m headwater_stack.resolve`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from headwater_avro.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked jar: Maven coordinates, ``size`` in bytes, ``sha256`` in lower-case hex."""

    group: str
    artifact: str
    version: str
    classifier: str
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        parts = (self.artifact, self.version, self.classifier)
        return "-".join(part for part in parts if part) + ".jar"

    @property
    def repository_path(self) -> str:
        """The path in a repository with Maven's layout, relative to its address."""
        return "/".join((*self.group.split("."), self.artifact, self.version, self.file_name))

    @property
    def cache_path(self) -> str:
        """The path in the jar cache, relative to its folder."""
        return f"{self.group}/{self.file_name}"


Lock: TypeAlias = dict[str, tuple[Jar, ...]]
"""Group name to its jars, in the order of the classpath."""


def parse_lock(text: str) -> Lock:
    """Return the content of a lock file; lines that begin with ``#`` are comments."""
    lock: dict[str, list[Jar]] = {}
    jars: list[Jar] = []
    for line in text.splitlines():
        if line.startswith("["):
            jars = lock.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            jars.append(_parse_jar(line))
    return {group: tuple(jars) for group, jars in lock.items()}


def format_lock(lock: Lock, head: str) -> str:
    """Return the text of a lock file, as ``parse_lock`` reads it; ``head`` becomes a comment."""
    sections = [f"[{group}]\n" + "".join(map(_format_jar, jars)) for group, jars in lock.items()]
    return "\n".join([f"# {head}\n", *sections])


@cache
def shipped_lock() -> Lock:
    """Return the lock of this package."""
    return parse_lock(files(__package__).joinpath("jars.lock").read_text(encoding="utf-8"))


def jars_of(groups: Iterable[str]) -> tuple[Jar, ...]:
    """Return the jars of some groups of the lock of this package, each once; raise ConfigError for an unknown group."""
    lock = shipped_lock()
    unknown = [group for group in groups if group not in lock]
    if unknown:
        raise ConfigError(f"no such group of jars: {', '.join(unknown)}; there are {', '.join(lock)}")
    return tuple(dict.fromkeys(jar for group in groups for jar in lock[group]))


def _parse_jar(line: str) -> Jar:
    coordinates, size, sha256 = line.split()
    group, artifact, version, *classifier = coordinates.split(":")
    return Jar(group, artifact, version, "".join(classifier), int(size), sha256)


def _format_jar(jar: Jar) -> str:
    parts = (jar.group, jar.artifact, jar.version, jar.classifier)
    return f"{':'.join(part for part in parts if part)} {jar.size} {jar.sha256}\n"
