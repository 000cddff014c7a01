"""Whether the stored graph is what its records say: derived anew by the rules and compared, line by line (specification 9)."""

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
    """A line that only one side has: ``-`` the records say it and the graph lacks it, ``+`` the graph alone has it.

    ``line`` ends with its newline; it is a line of the dump, or tells a node or an edge as far as the dump doesn't.
    """

    sign: Literal["-", "+"]
    line: bytes


def check(store: Scans) -> Iterator[Difference]:
    """Yield the differences between a stored graph and what the rules make of its records; none: it is right.

    Raises ConfigError while work is still owed, and where the graph was written to while it was read.
    """
    _refuse_unsettled(store)
    before = _epoch(store)
    with RederivedGraph(store) as derived:
        looks = (
            differences(dump(derived), dump(store)),
            differences(sort_lines(rederived_lines(derived)), sort_lines(stored_lines(store))),
            _stale_summaries(store),
        )
        for look in looks:
            for number, difference in enumerate(look):
                # All of both was read before the first difference: sorting needs it.
                if number == 0 and _epoch(store) != before:
                    raise ConfigError(
                        "the graph was written to while it was checked: stop the consumer, then check again"
                    )
                yield difference


def differences(expected: Iterable[bytes], found: Iterable[bytes]) -> Iterator[Difference]:
    """Yield what differs between two sorted sequences of lines, a line that one has more often included."""
    ours, theirs = iter(expected), iter(found)
    one, other = next(ours, None), next(theirs, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one < other):
            assert one is not None
            yield Difference("-", one)
            one = next(ours, None)
        elif one is None or other < one:
            yield Difference("+", other)
            other = next(theirs, None)
        else:
            one, other = next(ours, None), next(theirs, None)


def _stale_summaries(store: Scans) -> Iterator[Difference]:
    """The summaries that do not describe their nodes (headwater_graph.store.node_summary)."""
    for row in store.scan("check/summaries"):
        yield Difference("+", (canonical({"kind": "summary", "of": [row["kind"], *row["key"]]}) + "\n").encode())


def _refuse_unsettled(store: Scans) -> None:
    deferred = {row["kind"] for row in store.scan("check/deferred_work")}
    if "rebuild" in deferred:
        raise ConfigError(
            "the graph is being rebuilt, or a rebuild was broken off: run `headwater graph rebuild` first"
        )
    if deferred:
        kinds = ", ".join(sorted(deferred))
        raise ConfigError(f"the graph still owes work ({kinds}): let the consumer finish it, then check again")


def _epoch(store: Scans) -> int:
    return next((row["epoch"] for row in store.scan("check/epoch")), 0)
