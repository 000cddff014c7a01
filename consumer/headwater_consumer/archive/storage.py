"""Storage for the files of an archive: a folder, a bucket (any URL that fsspec supports), or memory.

A file appears completely or not at all and is never changed; once ``write`` returns, it survives a crash.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from headwater_avro.errors import ConfigError, ServerUnavailable

UNFINISHED = ".unfinished-"
LOCK = ".lock"


class Storage(Protocol):
    """Named files; names have the form ``topic/day/file``.

    Raises ConfigError if the storage can't be used, ServerUnavailable if it does not answer.
    """

    def names(self, topic: str) -> list[str]:
        """Return the names of all files of a topic."""

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; raise ConfigError if there is no such file."""

    def write(self, name: str, content: bytes) -> None:
        """Store a file durably."""

    def locked(self, topic: str) -> AbstractContextManager[None]:
        """Lock the topic against other writers, if the storage supports it; raise ConfigError if another one has the lock."""


def storage_at(place: str) -> Storage:
    """Return the storage at a folder's path or a URL such as ``s3://bucket/path``; raise ConfigError if it can't be used."""
    if "://" not in place:
        return Folder(Path(place))
    if place.startswith("file://"):
        return Folder(Path(place.removeprefix("file://")))
    return Bucket(place)


class Folder:
    """A folder of this machine; a file lock, which ends with its process, admits one writer per topic."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, topic: str) -> list[str]:
        found = (path for path in (self._root / topic).rglob("*") if path.is_file())
        return [str(path.relative_to(self._root)) for path in found if not path.name.startswith(".")]

    def read(self, name: str) -> bytes:
        try:
            return (self._root / name).read_bytes()
        except OSError as fault:
            raise ConfigError(f"{self._root / name} can't be read: {fault.strerror}") from fault

    def write(self, name: str, content: bytes) -> None:
        target = self._root / name
        unfinished = target.parent / f"{UNFINISHED}{uuid.uuid4().hex}"
        try:
            _make_folder(target.parent, self._root)
            _write_durably(unfinished, content)
            unfinished.replace(target)
            _sync_folder(target.parent)
        except OSError as fault:
            raise ConfigError(f"{target} can't be written: {fault.strerror}") from fault

    @contextmanager
    def locked(self, topic: str) -> Iterator[None]:
        folder = self._root / topic
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / LOCK).open("w")
        except OSError as fault:
            raise ConfigError(f"{folder} can't be written: {fault.strerror}") from fault
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(f"{folder} is being written by another `headwater archive`") from None
            # Incomplete files remain if a writer was killed or the disk was full.
            for unfinished in folder.glob(f"*/{UNFINISHED}*"):
                unfinished.unlink()
            yield


def _make_folder(folder: Path, root: Path) -> None:
    """Make a folder and its parents up to the root, each durably."""
    if folder.is_dir():
        return
    if folder != root:
        _make_folder(folder.parent, root)
    folder.mkdir(parents=True, exist_ok=True)
    _sync_folder(folder.parent)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    # The name of a file is durable only after its folder is synchronised.
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class Bucket:
    """Storage that fsspec reaches by URL: S3, GCS, Azure, HDFS. Each file is one upload, which these stores do atomically.

    There is no lock. Two writers waste space, but a reader still returns each message once.
    """

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ModuleNotFoundError as missing:
            scheme = url.partition("://")[0]
            raise ConfigError(f"{scheme}:// needs fsspec: pip install 'fsspec[{scheme}]'") from missing
        try:
            self._files, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as fault:
            raise ConfigError(f"{url} can't be used: {fault}") from fault
        self._url, self._root = url, str(root).rstrip("/")

    def names(self, topic: str) -> list[str]:
        found = self._request(lambda: self._files.find(f"{self._root}/{topic}"))
        return [str(path).removeprefix(f"{self._root}/") for path in found]

    def read(self, name: str) -> bytes:
        return bytes(self._request(lambda: self._files.cat_file(f"{self._root}/{name}")))

    def write(self, name: str, content: bytes) -> None:
        self._request(lambda: self._files.pipe_file(f"{self._root}/{name}", content))

    def locked(self, topic: str) -> AbstractContextManager[None]:
        return nullcontext()

    def _request(self, operation: Any) -> Any:
        try:
            return operation()
        except FileNotFoundError as fault:
            raise ConfigError(f"{self._url} has no {fault}") from fault
        except OSError as fault:
            raise ServerUnavailable("The archive", self._url, str(fault)) from fault
