"""The states of a run and of the runs below it, and what has changed in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.node_status import OPEN_STATES
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.runs import Child, RunLine, child_runs, run_line, the_row


def run_states(reader: GraphReader, run: Node, now: datetime) -> list[RunLine]:
    """Return a run and the runs below it, the run itself first; raises NotFound if the graph has no such run.

    Of a run with more than a thousand below it, these are the first ones.
    """
    row = the_row(run, reader.rows("runs/nodes", keys=[run.key]))
    children, _ = child_runs(reader, run.key, now)
    return [run_line(row, now), *_flat(children)]


def changed_runs(before: Sequence[RunLine], after: Sequence[RunLine]) -> list[RunLine]:
    """Return the runs that are new or have another state, start, end or status than before."""
    known = {line.id: _state(line) for line in before}
    return [line for line in after if known.get(line.id) != _state(line)]


def have_ended(lines: Sequence[RunLine]) -> bool:
    """Return whether all runs have ended; a run of which nothing but its id is known has not."""
    return all(line.state is not None and line.state not in OPEN_STATES for line in lines)


def states_id(lines: Sequence[RunLine]) -> str:
    """Return a text that is the same exactly if no run has changed."""
    states = sorted((line.id, *_state(line)) for line in lines)
    return sha256(json.dumps(states).encode()).hexdigest()[:32]


def _state(line: RunLine) -> tuple[str, ...]:
    # The duration and the time of the last event of a run that goes on change without a change of its state.
    return (line.state or "", line.started or "", line.ended or "", *line.status)


def _flat(children: Sequence[Child]) -> Iterator[RunLine]:
    for child in children:
        yield child.run
        yield from _flat(child.children)
