"""Atomic writes of files, locks between processes, and disk faults as errors of one line."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater_avro.errors import ConfigError

from .progress import Progress

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
_PRIVATE = 0o600


@contextmanager
def disk_faults(place: Path, setting: str) -> Iterator[None]:
    """Raise ConfigError if the disk of ``place`` is full or can't be written; ``setting`` chooses another place."""
    try:
        yield
    except OSError as fault:
        where = fault.filename or place
        if fault.errno in _FULL:
            message = f"no space left on the disk of {where}: free some, or choose another disk with {setting}"
            raise ConfigError(message) from fault
        if fault.errno in _FORBIDDEN:
            raise ConfigError(f"{where} can't be written: choose another place with {setting}") from fault
        raise


@contextmanager
def locked(path: Path, progress: Progress, owner: str) -> Iterator[None]:
    """Hold the lock file ``path``, waiting for another process that holds it; ``owner`` describes that process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress.waiting(owner):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def replace_text(path: Path, text: str, mode: int = _PRIVATE) -> None:
    """Write a file atomically; only its owner can read it unless ``mode`` says otherwise."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
