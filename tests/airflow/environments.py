"""Virtual environments for programs that cannot be installed beside this project, created once and reused.

They stand under ``HEADWATER_TEST_CACHE`` (default ``~/.cache/headwater/test-venvs``), one per list of requirements: a
changed list makes a new one. The project itself is seen by its source folders.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Producer

from headwater.transport.spool import claim, segments

from ..servers import Servers
from ..transport.events import arrived

CHECKOUT = Path(__file__).parents[2]
SOURCES = os.pathsep.join(str(CHECKOUT / part) for part in ("emitter", "avro"))


def environment(requirements: Path) -> Path:
    """The ``bin`` folder of an environment with exactly these requirements, and pip's word if it can't be made."""
    text = requirements.read_text()
    digest = hashlib.sha256(f"{sys.version_info[:2]}{text}".encode()).hexdigest()[:12]
    home = cache() / f"{requirements.parent.name}-{requirements.stem}-{digest}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            _make(home, requirements)
            (home / "ready").touch()
    return home / "bin"


def cache() -> Path:
    return Path(os.environ.get("HEADWATER_TEST_CACHE", "~/.cache/headwater/test-venvs")).expanduser()


def run(
    command: list[str], environ: dict[str, str], *, cwd: Path, timeout: float = 400
) -> subprocess.CompletedProcess[str]:
    """Run a program of an environment to its end; of the caller's own settings only what finds files and packages."""
    inherited = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR", "TZ")}
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    whole = {**inherited, "PATH": path, "PYTHONPATH": SOURCES, **environ}
    return subprocess.run(command, env=whole, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)


def spooled(folder: Path) -> list[bytes]:
    """The messages that emitters left in a spool, now closed."""
    found = [claim(path) for path in segments(folder, ".spool")]
    return [message.value for segment in found if segment for message in segment.messages()]


def through_kafka(messages: list[bytes], servers: Servers, topic: str) -> list[bytes]:
    """The messages as they come out of real Kafka."""
    producer = Producer({"bootstrap.servers": servers.kafka_bootstrap_servers})
    for message in messages:
        producer.produce(topic, message)
    assert producer.flush(30) == 0
    return [value for _, value in arrived(servers.kafka_bootstrap_servers, topic, len(messages))]


def _make(home: Path, requirements: Path) -> None:
    # The lists are whole, with each version: nothing is left to resolve.
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    python = str(home / "bin" / "python")
    uv = Path(sys.executable).parent / "uv"
    installer = [str(uv), "pip", "install", "--python", python] if uv.exists() else [python, "-m", "pip", "install"]
    done = subprocess.run(
        [*installer, "-q", "--no-deps", "-r", str(requirements)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{requirements.name} can't be installed:\n{done.stderr[-3000:]}")
