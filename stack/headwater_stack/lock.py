"""The jar lock: which jars the stack and the Spark jobs need, by name, version, size and SHA-256.

``jars.lock`` holds one section per group; each line is ``group:artifact:version[:classifier] size sha256``. It names
no address: where jars come from is the reader's setting. ``python -m headwater_stack.resolve`` writes it.
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
        """Where a repository of the Maven layout keeps it, relative to the repository's address."""
        return "/".join((*self.group.split("."), self.artifact, self.version, self.file_name))

    @property
    def cache_path(self) -> str:
        """Where the jar cache keeps it, relative to the cache's folder."""
        return f"{self.group}/{self.file_name}"


Lock: TypeAlias = dict[str, tuple[Jar, ...]]
"""Group name to its jars, in the order of the classpath."""


def parse_lock(text: str) -> Lock:
    """Read the text of a lock file; ``#`` begins a comment line."""
    lock: dict[str, list[Jar]] = {}
    jars: list[Jar] = []
    for line in text.splitlines():
        if line.startswith("["):
            jars = lock.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            jars.append(_parse_jar(line))
    return {group: tuple(jars) for group, jars in lock.items()}


def format_lock(lock: Lock, head: str) -> str:
    """Write what :func:`parse_lock` reads; ``head`` becomes a comment."""
    sections = [f"[{group}]\n" + "".join(map(_format_jar, jars)) for group, jars in lock.items()]
    return "\n".join([f"# {head}\n", *sections])


@cache
def shipped_lock() -> Lock:
    """Read the lock that this package ships."""
    return parse_lock(files(__package__).joinpath("jars.lock").read_text(encoding="utf-8"))


def jars_of(groups: Iterable[str]) -> tuple[Jar, ...]:
    """List the shipped lock's jars of some groups, each once; raise ConfigError for a group that it doesn't have."""
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
