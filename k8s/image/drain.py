"""Ask the consumer in this container to finish its batch, and wait until it is gone: ``drain [SCRIPT]``.

For a driver under spark-submit, where Kubernetes' signal reaches the JVM alone. Exit code 0 when no consumer is left.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

CONSUMER = "consume.py"
_LOOK = 0.2


def running(script: str) -> list[int]:
    """Return the process ids of Python programs that run a script of this name."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs(entry, script)]


def _runs(entry: Path, script: str) -> bool:
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
        # A process that has ended and was not waited for has no command line any more.
        return len(words) > 1 and b"python" in Path(os.fsdecode(words[0])).name.encode() and _names(words[1], script)
    except OSError:
        return False  # it ended while it was looked at


def _names(word: bytes, script: str) -> bool:
    return Path(os.fsdecode(word)).name == script


def main() -> int:
    """Signal and wait; Kubernetes ends the waiting with the grace period."""
    script = sys.argv[1] if len(sys.argv) > 1 else CONSUMER
    for process in running(script):
        os.kill(process, signal.SIGTERM)
    while running(script):
        time.sleep(_LOOK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
