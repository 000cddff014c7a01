"""Signal the consumer in this container to finish its batch, and wait until it has ended: ``drain [SCRIPT]``.

For a driver under spark-submit, where Kubernetes' signal reaches only the JVM. Exit code 0 when no consumer runs.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

CONSUMER = "consume.py"
POLL_SECONDS = 0.2


def running(script: str) -> list[int]:
    """Return the process ids of Python programs that run a script with this name."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs(entry, script)]


def _runs(entry: Path, script: str) -> bool:
    try:
        arguments = (entry / "cmdline").read_bytes().split(b"\0")
        # A zombie process has an empty command line.
        return (
            len(arguments) > 1
            and b"python" in Path(os.fsdecode(arguments[0])).name.encode()
            and _is_script(arguments[1], script)
        )
    except OSError:
        return False  # the process has ended meanwhile


def _is_script(argument: bytes, script: str) -> bool:
    return Path(os.fsdecode(argument)).name == script


def main() -> int:
    """Signal the consumer and wait; Kubernetes limits the wait by the grace period."""
    script = sys.argv[1] if len(sys.argv) > 1 else CONSUMER
    for process in running(script):
        os.kill(process, signal.SIGTERM)
    while running(script):
        time.sleep(POLL_SECONDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
