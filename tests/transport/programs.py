"""Programs that run in a process of their own, as a user's job does."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

HEAD = """
import os, signal, sys, threading, time
from headwater.transport import HeadwaterTransport, counters, default_transport

def event(run_id, **more):
    return {"eventType": "START", "eventTime": "2024-01-01T00:00:00Z", "run": {"runId": run_id},
            "job": {"namespace": "n", "name": "j"}} | more

transport = default_transport()
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    code: int
    seconds: float
    output: str
    errors: str


def environment(spool_dir: Path, bootstrap_servers: str, topic: str, **settings: object) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE"))}
    # No process of its own outlives a test, unless the test is about that.
    settings = {"sender_lifetime": 0} | settings
    own = {f"HEADWATER_EMITTER_{key.upper()}": str(value) for key, value in settings.items()}
    return (
        inherited
        | own
        | {
            "HEADWATER_EMITTER_SPOOL_DIR": str(spool_dir),
            "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": bootstrap_servers,
            "HEADWATER_KAFKA_TOPIC": topic,
        }
    )


def start(program: str, environ: dict[str, str], head: str = HEAD) -> subprocess.Popen[str]:
    text = head + textwrap.dedent(program)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", text], env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def run(program: str, environ: dict[str, str], head: str = HEAD, seconds: float = 60) -> Ended:
    begun = time.monotonic()
    with start(program, environ, head) as process:
        output, errors = process.communicate(timeout=seconds)
    return Ended(process.returncode, time.monotonic() - begun, output, errors)
