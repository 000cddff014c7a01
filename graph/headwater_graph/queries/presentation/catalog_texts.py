"""A dataset or job, and versions of them, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from headwater_graph.queries.catalog.entity import Entity
from headwater_graph.queries.runs.history import DatasetVersionLine, JobVersionLine, job_version_reasons

from .formats import Paint, json_text, label, short_time

DATASET_VERSION_HEAD = ("at", "version", "state", "job", "run", "external", "readers", "change")
JOB_VERSION_HEAD = ("number", "from", "runs", "code version", "version", "reason")


def entity_lines(shown: Entity, facets: bool, colours: Paint) -> Iterator[str]:
    """Yield a dataset or job as lines: itself, its aliases, its neighbours, its facets."""
    is_job = shown.node.kind == "job"
    titles = ("reads", "writes") if is_job else ("written by", "read by")
    yield label(shown.node, colours)
    if owners := shown.node.facts.get("owners"):
        yield f"  {'owners':<12} {', '.join(owners)}"
    for title, nodes in zip(("other name", *titles), (shown.aliases, shown.upstream, shown.downstream), strict=True):
        yield from (f"  {title:<12} {label(node, colours)}" for node in nodes)
    yield from ["  cut: there are more neighbours"] if shown.truncated else []
    if facets:
        yield json_text(shown.facets)
    elif shown.facets:
        yield f"  {'facets':<12} {' '.join(sorted(shown.facets))}"


def dataset_version_cells(line: DatasetVersionLine) -> tuple[str, ...]:
    """Return the cells of a version of a dataset in a table with ``DATASET_VERSION_HEAD``."""
    job = " ".join(line.job) if line.job else ""
    facts = (short_time(line.at), line.id, line.state or "", job, line.made_by or "", line.external or "")
    return (*facts, str(line.readers), "; ".join(line.reasons))


def job_version_cells(line: JobVersionLine) -> tuple[str, ...]:
    """Return the cells of a version of a job in a table with ``JOB_VERSION_HEAD``."""
    reason = "; ".join(line.reasons) + (" [lineage unknown]" if line.unknown else "")
    return (str(line.number), short_time(line.since), str(line.runs), line.code or "", line.id, reason)


def version_diff_lines(before: JobVersionLine, after: JobVersionLine) -> Iterator[str]:
    """Yield what differs between two versions of a job as lines."""
    for side, line in (("from", before), ("to", after)):
        yield f"{side:<5}version {line.number}  {short_time(line.since)}  {line.id}"
    yield from (f"  {reason}" for reason in job_version_reasons(before, after) or ("no difference",))
