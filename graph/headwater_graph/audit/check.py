"""Compare the stored graph with the graph derived again from its records, line by line (specification 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from headwater_avro.canonical import canonical
from headwater_avro.errors import ConfigError
from headwater_graph.audit.dump import dump
from headwater_graph.audit.rederive import RederivedGraph
from headwater_graph.audit.rederive.internal_lines import rederived_lines, stored_lines
from headwater_graph.audit.sorted_lines import sort_lines
from headwater_graph.store.port import Scans


@dataclass(frozen=True, slots=True)
class Difference:
    """A line that only one side has: ``-`` follows from the records but is not in the graph, ``+`` is in the graph only.

    ``line`` ends with its newline; it is a line of the dump, or a line of the content that the dump does not show.
    """

    sign: Literal["-", "+"]
    line: bytes


def check(store: Scans) -> Iterator[Difference]:
    """Yield the differences between a stored graph and the graph derived from its records; none means that it is correct.

    Raises ConfigError while the graph has deferred work, and if it was written to while it was read.
    """
    _refuse_unfinished(store)
    before = _epoch(store)
    with RederivedGraph(store) as derived:
        comparisons = (
            differences(dump(derived), dump(store)),
            differences(sort_lines(rederived_lines(derived)), sort_lines(stored_lines(store))),
            _stale_summaries(store),
        )
        for comparison in comparisons:
            for number, difference in enumerate(comparison):
                # Sorting has read both sides completely before the first difference.
                if number == 0 and _epoch(store) != before:
                    raise ConfigError(
                        "the graph was written to while it was checked: stop the consumer, then check again"
                    )
                yield difference


def differences(expected: Iterable[bytes], found: Iterable[bytes]) -> Iterator[Difference]:
    """Yield the multiset differences between two sorted sequences of lines."""
    ours, theirs = iter(expected), iter(found)
    left, right = next(ours, None), next(theirs, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left < right):
            assert left is not None
            yield Difference("-", left)
            left = next(ours, None)
        elif left is None or right < left:
            yield Difference("+", right)
            right = next(theirs, None)
        else:
            left, right = next(ours, None), next(theirs, None)


def _stale_summaries(store: Scans) -> Iterator[Difference]:
    """Yield the summaries that are not those of their nodes (``headwater_graph.store.node_summary``)."""
    for row in store.scan("check/summaries"):
        yield Difference("+", (canonical({"kind": "summary", "of": [row["kind"], *row["key"]]}) + "\n").encode())


def _refuse_unfinished(store: Scans) -> None:
    deferred = {row["kind"] for row in store.scan("check/deferred_work")}
    if "rebuild" in deferred:
        raise ConfigError(
            "the graph is being rebuilt, or a rebuild was interrupted: run `headwater graph rebuild` first"
        )
    if deferred:
        kinds = ", ".join(sorted(deferred))
        raise ConfigError(f"the graph has deferred work ({kinds}): let the consumer finish it, then check again")


def _epoch(store: Scans) -> int:
    return next((row["epoch"] for row in store.scan("check/epoch")), 0)
