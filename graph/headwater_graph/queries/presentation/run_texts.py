"""Runs, and what differs between two of them, as lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from headwater_graph.queries.runs.run_diff import RunChange, RunDiff
from headwater_graph.queries.runs.runs import Child, RunDetails, RunLine, VersionUse

from .formats import STATE_COLOURS, Paint, json_text, short_time

BAR = 24
WIDTH = 16
MAX_VALUE = 200
RUN_HEAD = ("run", "job", "state", "started", "took", "marks")


def run_cells(line: RunLine) -> tuple[str, ...]:
    """Return the cells of a run in a table with ``RUN_HEAD``."""
    job = "" if line.job is None else " ".join(line.job)
    started = short_time(line.started or line.last_event)
    return (line.id, job, line.state or "", started, duration(line.seconds), ", ".join(line.status))


def duration(seconds: float | None) -> str:
    """Return a duration in its two greatest units; "" for None.

    >>> duration(3725), duration(0.25), duration(90000)
    ('1h 2m', '0.25s', '1d 1h')
    """
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + "s"
    parts, rest = [], int(seconds)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return " ".join(parts[:2])


def run_lines(details: RunDetails, facets: bool, colours: Paint) -> Iterator[str]:
    """Yield a run as lines: itself, what it read and wrote, its children, its facets."""
    line = details.run
    status = " ".join(colours(f"[{name}]", "red") for name in line.status)
    yield f"run {colours(line.id, 'magenta')}  {_state(line, colours)} {status}".rstrip()
    yield from _facts(details)
    yield from _uses("read", details.reads, colours)
    yield from _uses("wrote", details.writes, colours)
    if details.children:
        yield "children"
        yield from _child_lines(details.children, "  ", _longest(details.children), colours)
        yield from ["  cut: there are more"] if details.more_children else []
    if facets:
        yield json_text(details.view.value())
    else:
        yield from _facet_names(details)


def _facet_names(details: RunDetails) -> Iterator[str]:
    groups = (("run facets", details.view.run), ("job facets", details.view.job))
    yield from (f"  {name:<16} {' '.join(sorted(facets))}" for name, facets in groups if facets)


def _state(line: RunLine, colours: Paint) -> str:
    state = line.state or ("no longer there" if "removed" in line.status else "not heard of")
    return colours(state, STATE_COLOURS.get(state, "white"))


def _facts(details: RunDetails) -> Iterator[str]:
    line = details.run
    made = " (made by this run)" if details.made_version else ""
    facts = (
        ("job", line.job and " ".join(line.job)),
        ("job version", details.version and details.version + made),
        ("code version", details.code_version),
        ("started", short_time(line.started)),
        ("ended", short_time(line.ended)),
        ("last event", "" if line.ended else short_time(line.last_event)),
        ("took", duration(line.seconds)),
        ("parent", details.parent),
        ("error", details.error),
        ("other jobs named", ", ".join(" ".join(key) for key in details.conflicts)),
    )
    return (f"  {name:<{WIDTH}} {_indented(value)}" for name, value in facts if value)


def _indented(text: str) -> str:
    """Return a text of several lines, as some errors are, with the lines indented like the first."""
    return ("\n" + " " * (WIDTH + 3)).join(text.splitlines())


def _uses(verb: str, uses: Iterable[VersionUse], colours: Paint) -> Iterator[str]:
    for use in uses:
        if verb == "wrote":
            origin = ""
        elif use.made_by:
            origin = f"  written {short_time(use.at)} by run {use.made_by}"
        else:
            origin = f"  external version {use.external}" if use.external else "  written by an unknown run"
        yield f"  {verb:<16} {colours(' '.join(use.dataset), 'cyan')}  version {use.version}{origin}"


def _longest(children: Iterable[Child]) -> float:
    return max((max(child.run.seconds or 0.0, _longest(child.children)) for child in children), default=0.0)


def _child_lines(children: Iterable[Child], indent: str, longest: float, colours: Paint) -> Iterator[str]:
    for child in children:
        line = child.run
        bar = "█" * max(1, round(BAR * line.seconds / longest)) if longest and line.seconds else ""
        job = " ".join(line.job) if line.job else ""
        status = "".join(f" [{name}]" for name in line.status)
        took = f"  {bar} {duration(line.seconds)}" if line.seconds is not None else ""
        yield f"{indent}{colours(line.id, 'magenta')}  {job}  {_state(line, colours)}{status}{took}"
        yield from _child_lines(child.children, indent + "  ", longest, colours)


def diff_lines(diff: RunDiff, colours: Paint) -> Iterator[str]:
    """Yield what differs between two runs as lines."""
    for side, details in (("from", diff.before), ("to", diff.after)):
        line = details.run
        yield f"{side:<5}run {colours(line.id, 'magenta')}  {_state(line, colours)}  {short_time(line.started)}".rstrip()
    if diff.is_empty:
        yield "no difference"
    yield from (_change_line("", change) for change in diff.facts)
    yield from (f"  {change}" for change in diff.sides)
    yield from (_change_line("read ", change) for change in diff.read_versions)
    yield from (f"  schema of {dataset}: {change}" for dataset, change in diff.schemas)
    for sign, edge in diff.columns:
        colour = "green" if sign == "+" else "red"
        yield colours(f"  {sign} column {'.'.join(edge[:3])} to {'.'.join(edge[3:])}", colour)
    yield from (_change_line("", change) for change in diff.settings)


def _change_line(prefix: str, change: RunChange) -> str:
    what, before, after = change
    return f"  {prefix}{what}: {_value_text(before)} to {_value_text(after)}"


def _value_text(value: Any) -> str:
    if value is None:
        return "none"
    text = " ".join(value) if isinstance(value, tuple) else value if isinstance(value, str) else json.dumps(value)
    line = next(iter(text.splitlines()), "")
    return text if len(line) == len(text) <= MAX_VALUE else line[:MAX_VALUE] + "…"
