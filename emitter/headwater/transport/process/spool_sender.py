"""A process that sends what forked children left in the spool.

Theory of operation. A forked child that ends by ``os._exit`` can wait only for a moment, and the process that forked it may
never use a transport. What such a child could not deliver is therefore sent by a process of its own, started by ``start``:
a new Python interpreter in a session of its own, without the open files of its host. A topic of a spool has at most one.

- *The lock.* The child takes an exclusive ``flock`` on a file of the spool and passes it on to the process, so that a
  second child finds it held and leaves its events to the process that lives. An event is on disk before its child tries
  the lock, and the process searches the spool once more after it has released the lock: one of them finds the event.
- *Whether Kafka answers.* While the process waits for Kafka it renews the time of that file and writes a byte into it.
  Children that find this do not wait for Kafka themselves.
- *The end.* The process ends when the spool has nothing to send, or after ``sender_lifetime``. It may be killed at any time,
  like every other reader of the spool.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from ..broker import KafkaBroker
from ..counters import TransportCounters
from ..kafka_sink import KafkaSink
from ..settings import HeadwaterConfig, read_settings
from ..spool import Spool

try:
    import fcntl
except ImportError:  # Windows, which has neither forks nor a spool
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("headwater.transport")

ANSWER_SECONDS = 5.0
"""How long Kafka may not respond before children are informed, and how long this information is valid."""


def start(config: HeadwaterConfig) -> bool:
    """Start the process unless one lives; return whether there is one. Raise OSError where it cannot be started."""
    if fcntl is None or not config.sender_lifetime or not _is_python(sys.executable):
        return False
    lock = try_lock(config)
    if lock is None:
        return True
    settings = json.dumps(asdict(config)).encode()
    with os.fdopen(lock):
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(lock)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            cwd="/",
            pass_fds=(lock,),
            start_new_session=True,
        )
        assert process.stdin is not None
        # Not as arguments, which would show passwords to every user of the machine.
        with process.stdin as pipe:
            pipe.write(settings)
    logger.info("process %d sends the lineage events in %s", process.pid, config.spool_dir)
    # It outlives this process: nobody waits for its end.
    process.returncode = 0
    return True


def waits_for_kafka(config: HeadwaterConfig) -> bool:
    """Return whether a process sends this spool and has had no response of Kafka for a while."""
    try:
        status = _lock_file(config).stat()
    except OSError:
        return False
    return status.st_size > 0 and abs(time.time() - status.st_mtime) < ANSWER_SECONDS


def try_lock(config: HeadwaterConfig) -> int | None:
    """Return a descriptor of the locked file, or None if another process has locked it."""
    descriptor = os.open(_lock_file(config), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def send(config: HeadwaterConfig, lock: int) -> None:
    """Send what is in the spool until nothing is left or the lifetime is over; ``lock`` is a descriptor of the locked file."""
    counters = TransportCounters()
    quick = {"reconnect.backoff.max.ms": 2_000, **config.kafka}
    settings = replace(config, replay=True, replay_interval=1.0, kafka=quick)
    sink = KafkaSink(settings, counters, KafkaBroker)
    spool = Spool(Path(config.spool_dir), config.topic, config.spool_max_bytes)
    deadline = time.monotonic() + config.sender_lifetime
    held: int | None = lock
    while held is not None:
        _send_all(sink, counters, spool, held, deadline)
        os.close(held)
        # An event that was written before the lock was released belongs to this process.
        has_more = spool.has_unclaimed() and time.monotonic() < deadline
        held = try_lock(config) if has_more else None
    sink.release()


def _send_all(sink: KafkaSink, counters: TransportCounters, spool: Spool, lock: int, deadline: float) -> None:
    answered_at, replayed = time.monotonic() - ANSWER_SECONDS, counters.snapshot().replayed
    while time.monotonic() < deadline:
        if time.monotonic() - answered_at >= ANSWER_SECONDS:
            os.pwrite(lock, b"1", 0)
        sink.work(0.1, urgent=False)
        if counters.snapshot().replayed != replayed:
            answered_at, replayed = time.monotonic(), counters.snapshot().replayed
            os.ftruncate(lock, 0)
        if sink.idle_seconds() and not spool.has_unclaimed():
            break
    os.ftruncate(lock, 0)


def _is_python(executable: str) -> bool:
    # In a server that embeds Python this may be the server itself.
    return Path(executable or "").name.startswith("python")


def _lock_file(config: HeadwaterConfig) -> Path:
    return Path(config.spool_dir) / f"{hashlib.sha256(config.topic.encode()).hexdigest()[:16]}.sender"


def main() -> None:
    """Send with the settings on standard input and the lock whose descriptor is the argument."""
    config, _ = read_settings(json.load(sys.stdin), {})
    with contextlib.suppress(KeyboardInterrupt):
        send(config, int(sys.argv[1]))
