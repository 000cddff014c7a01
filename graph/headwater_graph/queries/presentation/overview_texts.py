"""The overview of the graph as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from headwater_graph.queries.reports.overview import Overview

from .formats import Paint, table
from .run_texts import RUN_HEAD, run_cells


def overview_lines(found: Overview, colours: Paint) -> Iterator[str]:
    """Yield the counts, the latest, failed and silent runs, and the jobs that have changed."""
    yield ", ".join(f"{count} {what}" for what, count in found.counts.items())
    for title, runs in (("latest runs", found.latest), ("failed runs", found.failed), ("silent runs", found.silent)):
        if runs:
            yield f"{title}:"
            yield from table(RUN_HEAD, [run_cells(line) for line in runs], colours).splitlines()
    if found.changes:
        yield "changed jobs:"
    for change in found.changes:
        yield f"{' '.join(change.job)}  version {change.version.number}: {'; '.join(change.version.reasons)}"
