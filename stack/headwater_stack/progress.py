"""Progress reports of the stack: an interface with implementations for a terminal, for a log and for silence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO, TypeAlias

Advance: TypeAlias = Callable[[int], None]
"""Called with the number of bytes received since the last call; negative if bytes are discarded."""

_TENTHS = 10


class Progress(Protocol):
    """Where progress is reported."""

    def say(self, line: str) -> None:
        """Report a completed step."""

    def downloading(self, files: int, total: int) -> AbstractContextManager[Advance]:
        """Report a download of ``total`` bytes in ``files`` files while the block runs."""

    def waiting(self, what: str) -> AbstractContextManager[None]:
        """Report that the process waits for ``what`` while the block runs."""


class Silent:
    """Progress that is not reported."""

    def say(self, line: str) -> None:
        pass

    @contextmanager
    def downloading(self, files: int, total: int) -> Iterator[Advance]:
        yield lambda _: None

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        yield


class Lines:
    """Progress as plain lines, for a file or a pipe: a download reports each tenth of its size."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)

    @contextmanager
    def downloading(self, files: int, total: int) -> Iterator[Advance]:
        self.say(f"downloading {files} files, {megabytes(total)}")
        done, reported, began = 0, 0, time.monotonic()

        def advance(count: int) -> None:
            nonlocal done, reported
            done += count
            if (tenths := done * _TENTHS // max(total, 1)) > reported:
                reported = tenths
                self.say(f"downloaded {megabytes(done)} of {megabytes(total)}")

        yield advance
        self.say(f"downloaded and verified {files} files in {time.monotonic() - began:.1f} s")

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        self.say(f"waiting for {what}")
        yield


class Terminal:
    """Progress as bars and spinners, which are removed when they are complete."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console  # belongs to an extra, and is slow to import

        self._console = Console(file=stream, highlight=False)

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)

    @contextmanager
    def downloading(self, files: int, total: int) -> Iterator[Advance]:
        from rich import progress

        columns = (
            progress.TextColumn("downloading {task.fields[files]} files"),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
        )
        with progress.Progress(*columns, console=self._console, transient=True) as bar:
            task = bar.add_task("", total=total, files=files)
            yield lambda count: bar.advance(task, count)
        self.say(f"downloaded and verified {files} files, {megabytes(total)}")

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        with self._console.status(f"waiting for {what}"):
            yield


SILENT: Progress = Silent()


def progress_on(stream: TextIO) -> Progress:
    """Return bars if ``stream`` is a terminal, else plain lines."""
    return Terminal(stream) if stream.isatty() else Lines(stream)


def megabytes(count: int) -> str:
    """Return a number of bytes as text in megabytes."""
    return f"{count / 1_000_000:.1f} MB"
