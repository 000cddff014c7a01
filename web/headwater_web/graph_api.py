"""Every question about the graph under ``/api/v1/graph``; the answers are those of the command line's ``--json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Depends, Query, Request, Response

from headwater_avro.times import datetime_of, parse_time
from headwater_consumer.kafka.dead_letter_report import NAME as DEAD_LETTERS
from headwater_graph.queries.answers import Direction, Node
from headwater_graph.queries.catalog.entity import entity
from headwater_graph.queries.catalog.finding import Wanted, find, find_run
from headwater_graph.queries.catalog.search import KINDS, search
from headwater_graph.queries.fields.operations import field_operations, find_field
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.component import component
from headwater_graph.queries.lineage.impact import impact
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.path import path
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.reports.coverage import NAME as COVERAGE
from headwater_graph.queries.reports.coverage import coverage
from headwater_graph.queries.reports.reports import REPORTS, Report, report
from headwater_graph.queries.runs.history import NEWEST, dataset_versions, job_versions, two_versions, version_diff
from headwater_graph.queries.runs.run_diff import last_complete_run, run_diff
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.runs.runs import RunFilter, list_runs, show_run
from headwater_graph.queries.values import answer_value, impact_value, reference

from .guard import answered
from .paging import Cursor, cursor_of, place_of, skipped
from .problems import Problem
from .settings import WebSettings

Kind: TypeAlias = Literal["dataset", "job"]
Name: TypeAlias = Annotated[str, Query(min_length=1, max_length=4_001)]
Rows: TypeAlias = Annotated[int, Query(ge=1, le=1_000)]
Time: TypeAlias = Annotated[str | None, Query(max_length=40, description="as 2026-01-31T12:00:00Z")]
Letters: TypeAlias = Callable[[], Report]
"""The report on dead letters; raises ServerUnavailable where Kafka does not answer, Problem where none is known."""

ALL_REPORTS = (*REPORTS, COVERAGE, DEAD_LETTERS)
MOST_VERSIONS = 10_000
"""How far back the versions of a job are looked through for the two to compare."""

State: TypeAlias = Literal["NEW", "RUNNING", "COMPLETE", "ABORT", "FAIL"]


def only_described(request: Request) -> None:
    """Refuse a parameter that the API does not describe: misspelt, it would be left out, and the answer be another one."""
    told = request.app.openapi()["paths"][request.scope["route"].path_format]["get"].get("parameters", ())
    known = {each["name"] for each in told if each["in"] == "query"}
    if unknown := sorted(request.query_params.keys() - known):
        raise Problem(422, f"no parameter {', '.join(unknown)} here: there are {', '.join(sorted(known)) or 'none'}")


routes = APIRouter(prefix="/api/v1/graph", tags=["graph"], dependencies=[Depends(only_described)])


@dataclass(frozen=True, slots=True)
class Asked:
    """What every question needs: the graph, the limits of this server, the time at which it is asked, and dead letters."""

    reader: GraphReader
    settings: WebSettings
    now: datetime
    letters: Letters


def asked(request: Request) -> Asked:
    """Return what the application was made with."""
    state = request.app.state
    return Asked(state.reader, state.settings, state.clock(), state.letters)


Ask: TypeAlias = Annotated[Asked, Depends(asked)]


def limits_of(
    ask: Ask,
    depth: Annotated[int, Query(ge=0, description="in jobs")] = 10,
    neighbours: Annotated[int, Query(ge=1, description="of one node")] = 1_000,
    nodes: Annotated[int, Query(ge=1, description="of the whole answer")] = 5_000,
) -> TraversalLimits:
    """Return the limits of a walk; raises Problem beyond what this server allows."""
    most = (("depth", depth, ask.settings.max_depth), ("neighbours", neighbours, ask.settings.max_nodes))
    for name, wanted, allowed in (*most, ("nodes", nodes, ask.settings.max_nodes)):
        if wanted > allowed:
            raise Problem(400, f"{name} is at most {allowed} here")
    return TraversalLimits(depth, neighbours, nodes)


def scope_of(
    limits: Annotated[TraversalLimits, Depends(limits_of)],
    as_of: Time = None,
    active_since: Time = None,
    past: bool = False,
) -> Scope:
    """Return the part of the graph that is asked for."""
    return Scope(limits, read_time(as_of), past, read_time(active_since))


@dataclass(frozen=True, slots=True)
class Words:
    """How a dataset or job is named in a request; it is looked for only once all parameters are known to be good."""

    words: tuple[str, ...]
    kinds: tuple[Wanted, ...]

    def node(self, ask: Asked) -> Node:
        """Return the dataset or job; raises NotFound, ConfigError as :func:`find`."""
        return find(ask.reader, self.words, self.kinds)


def words_of(name: Name, namespace: Name | None = None, kind: Kind | None = None) -> Words:
    """Return ``namespace`` and ``name``, or ``name`` alone: ``namespace#name`` or a tail."""
    words = (name,) if namespace is None else (namespace, name)
    return Words(words, ("dataset", "job") if kind is None else (kind,))


Bounds: TypeAlias = Annotated[TraversalLimits, Depends(limits_of)]
Scoped: TypeAlias = Annotated[Scope, Depends(scope_of)]
Subject: TypeAlias = Annotated[Words, Depends(words_of)]
Columns: TypeAlias = Annotated[list[str], Query(default_factory=list)]


def read_time(text: str | None) -> datetime | None:
    """Return the time that a text names (specification 1.3); raises Problem for anything else."""
    if text is None:
        return None
    try:
        return datetime_of(parse_time(text))
    except (ValueError, OverflowError) as fault:
        raise Problem(400, f"no time: {fault}") from fault


@routes.get("/lineage/component")
def get_component(request: Request, ask: Ask, subject: Subject, scope: Scoped) -> Response:
    """All that is connected with a dataset or job."""
    return answered(request, answer_value(component(ask.reader, subject.node(ask), ask.now, scope)))


@routes.get("/lineage/impact")
def get_impact(request: Request, ask: Ask, subject: Subject, scope: Scoped, column: Columns) -> Response:
    """What a change of a dataset, job or column reaches, nearest first."""
    return answered(request, impact_value(impact(ask.reader, subject.node(ask), ask.now, columns=column, scope=scope)))


@routes.get("/lineage/path")
def get_path(
    request: Request,
    ask: Ask,
    scope: Scoped,
    source: Annotated[str, Query(alias="from", min_length=1)],
    target: Annotated[str, Query(alias="to", min_length=1)],
) -> Response:
    """A shortest way from one dataset or job to another, each as ``namespace#name`` or a tail; no nodes if there is none."""
    ends = find(ask.reader, (source,)), find(ask.reader, (target,))
    return answered(request, answer_value(path(ask.reader, *ends, ask.now, scope)))


@routes.get("/lineage/{direction}")
def get_lineage(request: Request, ask: Ask, direction: Direction, subject: Subject, scope: Scoped) -> Response:
    """What feeds a dataset or job, or what it feeds."""
    return answered(request, answer_value(lineage(ask.reader, subject.node(ask), direction, ask.now, scope)))


@routes.get("/columns/{direction}")
def get_columns(
    request: Request,
    ask: Ask,
    direction: Direction,
    subject: Subject,
    limits: Bounds,
    column: Columns,
    active_since: Time = None,
) -> Response:
    """What the columns of a dataset are derived from, or what is derived from them."""
    since = read_time(active_since)
    answer = column_lineage(ask.reader, subject.node(ask), direction, column, limits, since)
    return answered(request, answer_value(answer))


@routes.get("/operations")
def get_operations(
    request: Request, ask: Ask, name: Name, limits: Bounds, column: Columns, namespace: Name | None = None
) -> Response:
    """The operations that made columns of a dataset, as the last runs told them, and those that made their sources."""
    dataset, columns = find_field(ask.reader, words_of(name, namespace).words, column)
    return answered(request, field_operations(ask.reader, dataset, columns, limits).value())


@routes.get("/search")
def get_search(
    request: Request,
    ask: Ask,
    text: Name,
    kind: Annotated[list[Literal["dataset", "job", "column", "run"]], Query(default_factory=list)],
    limit: Rows = 20,
    cursor: Cursor = None,
) -> Response:
    """Datasets, jobs and columns whose name holds a text, and runs whose id begins so."""
    skip = skipped(cursor)
    found = search(ask.reader, text, tuple(kind) or KINDS, skip + limit + 1)[skip:]
    page = {"nodes": [reference(node) for node in found[:limit]]}
    return answered(request, page | _next_if(len(found) > limit, skip + limit))


@routes.get("/runs")
def get_runs(
    request: Request,
    ask: Ask,
    job: Name | None = None,
    dataset: Name | None = None,
    parent: Name | None = None,
    state: State | None = None,
    silent: bool = False,
    since: Time = None,
    until: Time = None,
    cursor: Cursor = None,
    limit: Rows = 50,
) -> Response:
    """Runs, the latest first; ``next`` is the cursor of the following page, absent on the last."""
    wanted = RunFilter(
        job=job and find(ask.reader, (job,), ("job",)).key,
        dataset=dataset and find(ask.reader, (dataset,), ("dataset",)).key,
        parent=parent and find_run(ask.reader, parent).key,
        state=state,
        since=read_time(since),
        until=read_time(until),
        silent=silent,
        before=None if cursor is None else _run_place(cursor),
    )
    found = list_runs(ask.reader, wanted, ask.now, limit + 1)
    page = {"runs": [line.value() for line in found[:limit]]}
    last = found[limit - 1] if len(found) > limit else None
    return answered(request, page | _next_if(last is not None, *((last.last_event or "", last.id) if last else ())))


def _next_if(more: bool, *place: str | int) -> dict[str, str]:
    return {"next": cursor_of(*place)} if more else {}


def _run_place(cursor: str) -> tuple[datetime, str]:
    time, run_id = place_of(cursor, str, str)
    try:
        return datetime_of(parse_time(time)), run_id
    except (ValueError, OverflowError) as fault:
        raise Problem(400, "the cursor is not one that this server gave") from fault


@routes.get("/runs/{run_id:path}/lineage/{direction}")
def get_run_graph(request: Request, ask: Ask, run_id: str, direction: Direction, limits: Bounds) -> Response:
    """What a run really read and what made that, or who read what it wrote."""
    return answered(
        request, answer_value(run_graph(ask.reader, find_run(ask.reader, run_id), direction, ask.now, limits))
    )


@routes.get("/runs/{run_id:path}/diff")
def get_run_diff(request: Request, ask: Ask, run_id: str, before: Name | None = None) -> Response:
    """What differs from the run ``before``, by default the last that worked, to this one."""
    after = find_run(ask.reader, run_id)
    first = last_complete_run(ask.reader, after) if before is None else find_run(ask.reader, before)
    return answered(request, run_diff(ask.reader, first, after, ask.now).value())


@routes.get("/runs/{run_id:path}")
def get_run(request: Request, ask: Ask, run_id: str) -> Response:
    """One run: reads, writes, children, facets."""
    return answered(request, show_run(ask.reader, find_run(ask.reader, run_id), ask.now).value())


@routes.get("/{kind}s/show")
def get_entity(
    request: Request, ask: Ask, kind: Kind, name: Name, namespace: Name | None = None, active_since: Time = None
) -> Response:
    """One dataset or job: facets, marks, what is next to it."""
    since = read_time(active_since)
    return answered(request, entity(ask.reader, words_of(name, namespace, kind).node(ask), ask.now, since).value())


@routes.get("/{kind}s/versions")
def get_versions(
    request: Request,
    ask: Ask,
    kind: Kind,
    name: Name,
    namespace: Name | None = None,
    limit: Rows = 50,
    cursor: Cursor = None,
) -> Response:
    """The versions of a job, each with the reason for it, or of a dataset; the newest first, in pages as runs are."""
    subject = words_of(name, namespace, kind).node(ask)
    page = _job_versions if kind == "job" else _dataset_versions
    return answered(request, page(ask.reader, subject, limit, cursor))


@routes.get("/jobs/diff")
def get_version_diff(
    request: Request,
    ask: Ask,
    name: Name,
    namespace: Name | None = None,
    first: Annotated[str | None, Query(alias="from", min_length=1, description="a number, or how an id begins")] = None,
    last: Annotated[str | None, Query(alias="to", min_length=1, description="as `from`")] = None,
) -> Response:
    """What differs between two versions of a job, by default the current one and the one before it."""
    versions = job_versions(ask.reader, words_of(name, namespace, "job").node(ask), MOST_VERSIONS)
    return answered(request, version_diff(*two_versions(versions, first, last)))


def _job_versions(reader: GraphReader, job: Node, limit: int, cursor: str | None) -> dict[str, Any]:
    below = None if cursor is None else int(place_of(cursor, int)[0])
    lines = job_versions(reader, job, limit, below)
    more = bool(lines) and not lines[-1].oldest
    return {"versions": [line.value() for line in lines]} | _next_if(more, *([lines[-1].number] if more else []))


def _dataset_versions(reader: GraphReader, dataset: Node, limit: int, cursor: str | None) -> dict[str, Any]:
    before = NEWEST if cursor is None else (place_of(cursor, int, str)[0], place_of(cursor, int, str)[1])
    lines = dataset_versions(reader, dataset, limit + 1, before)
    more, shown = len(lines) > limit, lines[:limit]
    return {"versions": [line.value() for line in shown]} | _next_if(more, *(shown[-1].position if more else ()))


@routes.get("/reports")
def get_reports(request: Request) -> Response:
    """The names of all reports."""
    return answered(request, {"reports": list(ALL_REPORTS)})


@routes.get("/reports/{name}")
def get_report(
    request: Request, ask: Ask, name: str, limit: Rows = 100, cursor: Cursor = None, active_since: Time = None
) -> Response:
    """One report on what is missing or odd."""
    if name not in ALL_REPORTS:
        raise Problem(404, f"no report {name!r}: there are {', '.join(ALL_REPORTS)}")
    skip, since = skipped(cursor), read_time(active_since)
    match name:
        case "coverage":
            found = coverage(ask.reader, limit, skip)
        case "dead-letters":
            found = _page_of(ask.letters(), skip, limit)
        case _:
            found = report(ask.reader, name, ask.now, limit, skip, since)
    return answered(request, found.value() | _next_if(found.truncated, skip + limit))


def _page_of(whole: Report, skip: int, limit: int) -> Report:
    return replace(whole, rows=whole.rows[skip : skip + limit], truncated=len(whole.rows) > skip + limit)
