"""Downloads of locked jars: parallel, resumable, verified, in a cache that all homes share."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headwater_avro.errors import ServerUnavailable

from .files import disk_faults, locked
from .lock import Jar, jars_of
from .progress import SILENT, Advance, Progress

if TYPE_CHECKING:
    import requests

DEFAULT_REPOSITORY = "https://repo.maven.apache.org/maven2"
"""Maven Central."""

_THREADS = 6
_ATTEMPTS = 4
_CHUNK = 1 << 18
_TIMEOUT = (10.0, 30.0)
_MIRROR = "set HEADWATER_MAVEN_REPOSITORY to a mirror"


class _Stopped(Exception):
    """Another download has failed, so this one ends."""


def repository() -> str:
    """Return the address of the Maven repository: HEADWATER_MAVEN_REPOSITORY or Maven Central."""
    return (os.environ.get("HEADWATER_MAVEN_REPOSITORY") or DEFAULT_REPOSITORY).rstrip("/")


def cache_folder() -> Path:
    """Return the folder of files that can be downloaded again: HEADWATER_CACHE or ``~/.cache/headwater``."""
    return Path(os.environ.get("HEADWATER_CACHE") or Path.home() / ".cache" / "headwater").expanduser().absolute()


def fetch(groups: Iterable[str], *, progress: Progress = SILENT) -> list[Path]:
    """Return the jars of some groups of the lock, downloading those that are not in the cache.

    Raises ConfigError for an unknown group or a disk that is full or can't be written, ServerUnavailable if the
    repository does not respond or its bytes are not those of the lock.
    """
    return fetch_jars(jars_of(tuple(groups)), cache_folder() / "jars", progress)


def fetch_jars(jars: Sequence[Jar], folder: Path, progress: Progress) -> list[Path]:
    """Return the paths of ``jars`` in ``folder``, in their order; otherwise as ``fetch``."""
    if any(not _is_there(jar, folder) for jar in jars):
        with disk_faults(folder, "HEADWATER_CACHE"), locked(folder / "lock", progress, "another download to end"):
            _download_missing(jars, folder, progress)
    return [folder / jar.cache_path for jar in jars]


def _is_there(jar: Jar, folder: Path) -> bool:
    # A jar gets its name only after its SHA-256 has been verified, so checking the size is enough here.
    try:
        return (folder / jar.cache_path).stat().st_size == jar.size
    except FileNotFoundError:
        return False


def _download_missing(jars: Sequence[Jar], folder: Path, progress: Progress) -> None:
    missing = [jar for jar in jars if not _is_there(jar, folder)]
    if not missing:
        return
    total = sum(jar.size for jar in missing)
    with progress.downloading(len(missing), total) as advance, _session() as session:
        lock, stop = threading.Lock(), threading.Event()

        def advance_safely(count: int) -> None:
            with lock:
                advance(count)

        download = _Download(session, repository(), folder, advance_safely, stop)
        with ThreadPoolExecutor(_THREADS) as pool:
            # The largest first, so that the last downloads are short.
            futures = [pool.submit(download.fetch, jar) for jar in sorted(missing, key=lambda jar: -jar.size)]
            _join(futures, stop)


def _join(futures: list[Future[None]], stop: threading.Event) -> None:
    try:
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    finally:
        stop.set()
    for future in done:
        with suppress(_Stopped):
            future.result()


def _session() -> requests.Session:
    import requests  # slow to import, and needed only if a jar is missing
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.headers["Accept-Encoding"] = "identity"
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_THREADS))
    return session


@dataclass(frozen=True, slots=True)
class _Download:
    session: requests.Session
    repository: str
    folder: Path
    advance: Advance
    stop: threading.Event

    def fetch(self, jar: Jar) -> None:
        """Download a jar, continuing where an earlier attempt ended."""
        import requests

        target = self.folder / jar.cache_path
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        self.advance(_size(part))
        fault: Exception = ValueError("its bytes are not those of the lock")
        for _ in range(_ATTEMPTS):
            try:
                self._append(jar, part)
            except requests.RequestException as broken:
                fault = broken
                continue
            if _sha256(part) == jar.sha256:
                part.replace(target)
                return
            self._discard(part)
        raise self._unavailable(jar, fault)

    def _append(self, jar: Jar, part: Path) -> None:
        begin = _size(part)
        if begin >= jar.size:
            return
        url = f"{self.repository}/{jar.repository_path}"
        headers = {"Range": f"bytes={begin}-"} if begin else {}
        with self.session.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
            answer.raise_for_status()
            if begin and answer.status_code != HTTPStatus.PARTIAL_CONTENT:
                self._discard(part)
            with part.open("ab") as file:
                for chunk in answer.iter_content(_CHUNK):
                    if self.stop.is_set():
                        raise _Stopped
                    file.write(chunk)
                    self.advance(len(chunk))

    def _discard(self, part: Path) -> None:
        self.advance(-_size(part))
        part.unlink(missing_ok=True)

    def _unavailable(self, jar: Jar, fault: Exception) -> ServerUnavailable:
        import requests

        host = urlsplit(self.repository).netloc or self.repository
        match fault:
            case ValueError() if not isinstance(fault, requests.RequestException):
                hint = f"{jar.file_name}: {fault}; a proxy serves another file, {_MIRROR}"
            case requests.HTTPError(response=answer) if answer is not None:
                hint = f"{jar.file_name} was refused with HTTP {answer.status_code}; {_MIRROR}"
            case _:
                hint = f"check the network (a later attempt continues the download) or {_MIRROR}"
        return ServerUnavailable("the Maven repository", host, hint)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
