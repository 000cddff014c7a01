"""CPU seconds and peak memory of groups of processes, sampled from Linux's /proc while something runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.5
"""Seconds between two samples: processes with shorter lives may be missed."""


@dataclass
class Usage:
    """CPU seconds used while watched, and the greatest sum of resident bytes."""

    cpu: dict[int, float] = field(default_factory=dict)
    before: dict[int, float] = field(default_factory=dict)
    peak: int = 0

    @property
    def seconds(self) -> float:
        return sum(self.cpu.values()) - sum(self.before.values())

    def sample(self, processes: list[int], first: bool) -> None:
        resident = 0
        for pid in processes:
            try:
                cpu, memory = used(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            self.cpu[pid] = cpu
            if first:
                self.before[pid] = cpu
            resident += memory
        self.peak = max(self.peak, resident)


Groups = Callable[[], dict[str, list[int]]]
"""Finds the process numbers of each group."""


@contextmanager
def watched(groups: Groups) -> Iterator[dict[str, Usage]]:
    """Measure groups of processes, which are determined for every sample, while the block runs."""
    usage: dict[str, Usage] = {}
    over = threading.Event()

    def sample(first: bool = False) -> None:
        for name, processes in groups().items():
            usage.setdefault(name, Usage()).sample(processes, first)

    def watch() -> None:
        while not over.wait(EVERY):
            sample()

    sample(first=True)
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield usage
    finally:
        over.set()
        thread.join()
        sample()


def tree(pid: int) -> dict[str, list[int]]:
    """Return a consumer's processes: its driver, Spark's Java, the Python workers."""
    found: dict[str, list[int]] = {"driver": [pid], "spark": [], "workers": []}
    for child in _descendants(pid):
        found["spark" if "java" in _name(child) else "workers"].append(child)
    return found


def used(pid: int) -> tuple[float, int]:
    """Return CPU seconds and resident bytes; raises FileNotFoundError, ProcessLookupError if the process has ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            children.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    return list(_below(pid, children))


def _below(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    for child in children.get(pid, []):
        yield child
        yield from _below(child, children)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""
