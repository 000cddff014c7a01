"""Where the files of an archive lie: a port of four verbs; a folder, a bucket (any URL that fsspec knows), or memory.

A file appears whole or not at all, is never changed, and once ``put`` returns it survives a crash.
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

    Raises ConfigError where the place can't be used, ServerUnavailable where it does not answer.
    """

    def names(self, topic: str) -> list[str]:
        """Return the names of all files of a topic."""

    def get(self, name: str) -> bytes:
        """Return the bytes of a file; raises ConfigError where there is none."""

    def put(self, name: str, content: bytes) -> None:
        """Keep a file; returns once it is there for good."""

    def held(self, topic: str) -> AbstractContextManager[None]:
        """Keep other writers of this topic out for a while, as far as the place allows; raises ConfigError if one is in."""


def storage_at(place: str) -> Storage:
    """Return the storage at a folder's path or a URL such as ``s3://bucket/path``; raises ConfigError for one that can't be."""
    if "://" not in place:
        return Folder(Path(place))
    if place.startswith("file://"):
        return Folder(Path(place.removeprefix("file://")))
    return Bucket(place)


class Memory:
    """The fake: files in a dictionary."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def names(self, topic: str) -> list[str]:
        return [name for name in self.files if name.startswith(f"{topic}/")]

    def get(self, name: str) -> bytes:
        return self.files[name]

    def put(self, name: str, content: bytes) -> None:
        self.files[name] = content

    def held(self, topic: str) -> AbstractContextManager[None]:
        return nullcontext()


class Folder:
    """A folder of this machine; one writer a topic, held by a lock that ends with its process."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, topic: str) -> list[str]:
        found = (path for path in (self._root / topic).rglob("*") if path.is_file())
        return [str(path.relative_to(self._root)) for path in found if not path.name.startswith(".")]

    def get(self, name: str) -> bytes:
        try:
            return (self._root / name).read_bytes()
        except OSError as fault:
            raise ConfigError(f"{self._root / name} can't be read: {fault.strerror}") from fault

    def put(self, name: str, content: bytes) -> None:
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
    def held(self, topic: str) -> Iterator[None]:
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
            # What a writer left half written: it was killed, or the disk was full.
            for left in folder.glob(f"*/{UNFINISHED}*"):
                left.unlink()
            yield


def _make_folder(folder: Path, root: Path) -> None:
    """Make a folder and those above it up to the root, each lasting."""
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
    # A name lasts once its folder is on disk.
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class Bucket:
    """Any place that fsspec reaches by URL: S3, GCS, Azure, HDFS; each file is one upload, which such stores do whole.

    Nothing keeps a second writer out here. Two of them waste space; a reader takes each message once all the same.
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
        found = self._reached(lambda: self._files.find(f"{self._root}/{topic}"))
        return [str(path).removeprefix(f"{self._root}/") for path in found]

    def get(self, name: str) -> bytes:
        return bytes(self._reached(lambda: self._files.cat_file(f"{self._root}/{name}")))

    def put(self, name: str, content: bytes) -> None:
        self._reached(lambda: self._files.pipe_file(f"{self._root}/{name}", content))

    def held(self, topic: str) -> AbstractContextManager[None]:
        return nullcontext()

    def _reached(self, ask: Any) -> Any:
        try:
            return ask()
        except FileNotFoundError as fault:
            raise ConfigError(f"{self._url} has no {fault}") from fault
        except OSError as fault:
            raise ServerUnavailable("The archive", self._url, str(fault)) from fault
