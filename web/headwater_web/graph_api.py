"""Queries of the graph under ``/api/v1/graph``; the responses equal the output of the command line's ``--json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from headwater_avro.names import MAX_KEY_LENGTH
from headwater_avro.times import datetime_of, parse_time
from headwater_consumer.kafka.dead_letter_report import NAME as DEAD_LETTERS
from headwater_graph.queries.answers import Direction, Node
from headwater_graph.queries.catalog.entity import entity
from headwater_graph.queries.catalog.finding import Wanted, find, find_run
from headwater_graph.queries.catalog.search import KINDS, search, search_similar
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
from headwater_graph.queries.reports.exposure import NAME as EXPOSURE
from headwater_graph.queries.reports.exposure import ExposureQuery, exposure
from headwater_graph.queries.reports.reports import REPORTS, Report, report
from headwater_graph.queries.runs.history import NEWEST, dataset_versions, job_versions, two_versions, version_diff
from headwater_graph.queries.runs.run_columns import find_version, version_columns
from headwater_graph.queries.runs.run_diff import last_complete_run, run_diff
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.runs.runs import RunFilter, list_runs, show_run
from headwater_graph.queries.values import answer_value, impact_value, reference

from .etags import answered
from .paging import Cursor, cursor_of, position_of, skipped, unknown_cursor
from .problems import Problem
from .settings import WebSettings

Kind: TypeAlias = Literal["dataset", "job"]
Name: TypeAlias = Annotated[str, Query(min_length=1, max_length=4_001)]
RunId: TypeAlias = Annotated[str, Path(max_length=MAX_KEY_LENGTH)]
Rows: TypeAlias = Annotated[int, Query(ge=1, le=1_000)]
Time: TypeAlias = Annotated[str | None, Query(max_length=40, description="as 2026-01-31T12:00:00Z")]
Letters: TypeAlias = Callable[[], Report]
"""Returns the report on dead letters; raises ServerUnavailable if Kafka does not answer, Problem if it is not configured."""

ALL_REPORTS = (*REPORTS, COVERAGE, EXPOSURE, DEAD_LETTERS)
MOST_VERSIONS = 10_000
"""How many of the latest versions of a job are searched for the two to compare."""

State: TypeAlias = Literal["NEW", "RUNNING", "COMPLETE", "ABORT", "FAIL"]


def only_described(request: Request) -> None:
    """Refuse parameters that the API does not describe: ignoring a misspelt parameter would return a wrong result."""
    described = request.app.openapi()["paths"][request.scope["route"].path_format]["get"].get("parameters", ())
    known = {parameter["name"] for parameter in described if parameter["in"] == "query"}
    if unknown := sorted(request.query_params.keys() - known):
        raise Problem(
            422, f"unknown parameter {', '.join(unknown)}: the parameters are {', '.join(sorted(known)) or 'none'}"
        )


routes = APIRouter(prefix="/api/v1/graph", tags=["graph"], dependencies=[Depends(only_described)])


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The dependencies of every query: its request, the graph, the server's settings, the time, and dead letters."""

    request: Request
    reader: GraphReader
    settings: WebSettings
    now: datetime
    letters: Letters

    def answer(self, value: Any) -> Response:
        """Return the response with a JSON value."""
        return answered(self.request, value)


def request_context(request: Request) -> RequestContext:
    """Return the context of a request, from the state of its application."""
    state = request.app.state
    return RequestContext(request, state.reader, state.settings, state.clock(), state.letters)


Context: TypeAlias = Annotated[RequestContext, Depends(request_context)]


def limits_of(
    context: Context,
    depth: Annotated[int, Query(ge=0, description="in jobs")] = 10,
    neighbours: Annotated[int, Query(ge=1, description="of one node")] = 1_000,
    nodes: Annotated[int, Query(ge=1, description="of the whole answer")] = 5_000,
) -> TraversalLimits:
    """Return the limits of a traversal; raises Problem beyond the limits of this server."""
    most = (("depth", depth, context.settings.max_depth), ("neighbours", neighbours, context.settings.max_nodes))
    for name, requested, allowed in (*most, ("nodes", nodes, context.settings.max_nodes)):
        if requested > allowed:
            raise Problem(400, f"{name} is at most {allowed} on this server")
    return TraversalLimits(depth, neighbours, nodes)


def scope_of(
    limits: Annotated[TraversalLimits, Depends(limits_of)],
    as_of: Time = None,
    active_since: Time = None,
    past: bool = False,
) -> Scope:
    """Return the part of the graph that a request selects."""
    return Scope(limits, read_time(as_of), past, read_time(active_since))


@dataclass(frozen=True, slots=True)
class EntityQuery:
    """The name of a dataset or job in a request; the graph is searched only after all parameters have been validated."""

    names: tuple[str, ...]
    kinds: tuple[Wanted, ...]

    def node(self, context: RequestContext) -> Node:
        """Return the dataset or job; raises NotFound, and ConfigError for an ambiguous name."""
        return find(context.reader, self.names, self.kinds)


def entity_query(name: Name, namespace: Name | None = None, kind: Kind | None = None) -> EntityQuery:
    """Return the query for ``namespace`` and ``name``, or for ``name`` alone: ``namespace#name`` or the end of a name."""
    names = (name,) if namespace is None else (namespace, name)
    return EntityQuery(names, ("dataset", "job") if kind is None else (kind,))


Bounds: TypeAlias = Annotated[TraversalLimits, Depends(limits_of)]
Scoped: TypeAlias = Annotated[Scope, Depends(scope_of)]
Subject: TypeAlias = Annotated[EntityQuery, Depends(entity_query)]
Columns: TypeAlias = Annotated[list[str], Query(default_factory=list)]


def read_time(text: str | None) -> datetime | None:
    """Return the time of a text (specification 1.3); raises Problem if the text is not a time."""
    if text is None:
        return None
    try:
        return datetime_of(parse_time(text))
    except (ValueError, OverflowError) as fault:
        raise Problem(400, f"not a time: {fault}") from fault


@routes.get("/lineage/component")
def get_component(context: Context, subject: Subject, scope: Scoped) -> Response:
    """Return everything that is connected with a dataset or job."""
    return context.answer(answer_value(component(context.reader, subject.node(context), context.now, scope)))


@routes.get("/lineage/impact")
def get_impact(context: Context, subject: Subject, scope: Scoped, column: Columns) -> Response:
    """Return what a change of a dataset, job or column affects, nearest first."""
    return context.answer(
        impact_value(impact(context.reader, subject.node(context), context.now, columns=column, scope=scope))
    )


@routes.get("/lineage/path")
def get_path(
    context: Context,
    scope: Scoped,
    source: Annotated[str, Query(alias="from", min_length=1)],
    target: Annotated[str, Query(alias="to", min_length=1)],
) -> Response:
    """Return a shortest path between two datasets or jobs (``namespace#name`` or the end of a name); no nodes without a path."""
    ends = find(context.reader, (source,)), find(context.reader, (target,))
    return context.answer(answer_value(path(context.reader, *ends, context.now, scope)))


@routes.get("/lineage/{direction}")
def get_lineage(context: Context, direction: Direction, subject: Subject, scope: Scoped) -> Response:
    """Return the upstream or downstream lineage of a dataset or job."""
    return context.answer(answer_value(lineage(context.reader, subject.node(context), direction, context.now, scope)))


@routes.get("/columns/{direction}")
def get_columns(
    context: Context,
    direction: Direction,
    subject: Subject,
    limits: Bounds,
    column: Columns,
    active_since: Time = None,
) -> Response:
    """Return the columns that the columns of a dataset are derived from, or those derived from them."""
    since = read_time(active_since)
    answer = column_lineage(context.reader, subject.node(context), direction, column, limits, since)
    return context.answer(answer_value(answer))


@routes.get("/versions/{version}")
def get_version(context: Context, version: RunId) -> Response:
    """Return a version of a dataset: its dataset, the run that made it, when, and its columns."""
    return context.answer(find_version(context.reader, version).value())


@routes.get("/versions/{version}/columns/{direction}")
def get_version_columns(
    context: Context,
    direction: Direction,
    version: RunId,
    limits: Bounds,
    column: Annotated[list[str], Query(min_length=1, max_length=1_000)],
) -> Response:
    """Return the columns from which runs made columns of a dataset version, or those that runs made of them."""
    start = find_version(context.reader, version)
    return context.answer(answer_value(version_columns(context.reader, start, direction, column, limits)))


@routes.get("/operations")
def get_operations(
    context: Context, name: Name, limits: Bounds, column: Columns, namespace: Name | None = None
) -> Response:
    """Return the operations that produced columns of a dataset, as reported by the last runs, and those of their sources."""
    dataset, columns = find_field(context.reader, entity_query(name, namespace).names, column)
    return context.answer(field_operations(context.reader, dataset, columns, limits).value())


@routes.get("/search")
def get_search(
    context: Context,
    text: Name,
    kind: Annotated[list[Literal["dataset", "job", "column", "run"]], Query(default_factory=list)],
    limit: Rows = 20,
    cursor: Cursor = None,
) -> Response:
    """Return datasets, jobs and columns whose name contains a text, and runs whose id begins with it.

    If there are none, datasets and jobs whose name contains it with one typing error; `similar` is then true.
    """
    skip, kinds = skipped(cursor), tuple(kind) or KINDS
    found = search(context.reader, text, kinds, skip + limit + 1)
    is_similar = not found
    if is_similar:
        found = search_similar(context.reader, text, kinds, skip + limit + 1)
    page: dict[str, Any] = {"nodes": [reference(node) for node in found[skip : skip + limit]]}
    similar = {"similar": True} if is_similar and found else {}
    return context.answer(page | similar | _next_if(len(found) > skip + limit, skip + limit))


@routes.get("/runs")
def get_runs(
    context: Context,
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
    """Return runs, the latest first; ``next`` is the cursor of the next page, absent on the last page."""
    wanted = RunFilter(
        job=job and find(context.reader, (job,), ("job",)).key,
        dataset=dataset and find(context.reader, (dataset,), ("dataset",)).key,
        parent=parent and find_run(context.reader, parent).key,
        state=state,
        since=read_time(since),
        until=read_time(until),
        silent=silent,
        before=None if cursor is None else _run_position(cursor),
    )
    found = list_runs(context.reader, wanted, context.now, limit + 1)
    page = {"runs": [line.value() for line in found[:limit]]}
    last = found[limit - 1] if len(found) > limit else None
    return context.answer(page | _next_if(last is not None, *((last.last_event or "", last.id) if last else ())))


def _next_if(more: bool, *position: str | int) -> dict[str, str]:
    return {"next": cursor_of(*position)} if more else {}


def _run_position(cursor: str) -> tuple[datetime, str]:
    time, run_id = position_of(cursor, str, str)
    try:
        return datetime_of(parse_time(time)), run_id
    except (ValueError, OverflowError) as fault:
        raise unknown_cursor() from fault


@routes.get("/runs/{run_id:path}/lineage/{direction}")
def get_run_graph(context: Context, run_id: RunId, direction: Direction, limits: Bounds) -> Response:
    """Return what a run actually read and the runs that wrote it, or the runs that read its outputs."""
    return context.answer(
        answer_value(run_graph(context.reader, find_run(context.reader, run_id), direction, context.now, limits)),
    )


@routes.get("/runs/{run_id:path}/diff")
def get_run_diff(context: Context, run_id: RunId, before: Name | None = None) -> Response:
    """Return the differences between the run ``before``, by default the last successful run, and this run."""
    after = find_run(context.reader, run_id)
    first = last_complete_run(context.reader, after) if before is None else find_run(context.reader, before)
    return context.answer(run_diff(context.reader, first, after, context.now).value())


@routes.get("/runs/{run_id:path}")
def get_run(context: Context, run_id: RunId) -> Response:
    """Return a run: reads, writes, children, facets."""
    return context.answer(show_run(context.reader, find_run(context.reader, run_id), context.now).value())


@routes.get("/{kind}s/show")
def get_entity(
    context: Context, kind: Kind, name: Name, namespace: Name | None = None, active_since: Time = None
) -> Response:
    """Return a dataset or job: facets, status, neighbours."""
    since = read_time(active_since)
    return context.answer(
        entity(context.reader, entity_query(name, namespace, kind).node(context), context.now, since).value()
    )


@routes.get("/{kind}s/versions")
def get_versions(
    context: Context,
    kind: Kind,
    name: Name,
    namespace: Name | None = None,
    limit: Rows = 50,
    cursor: Cursor = None,
) -> Response:
    """Return versions of a dataset, or of a job with the reason for each; the newest first, in pages as runs are."""
    subject = entity_query(name, namespace, kind).node(context)
    page = _job_versions if kind == "job" else _dataset_versions
    return context.answer(page(context.reader, subject, limit, cursor))


@routes.get("/jobs/diff")
def get_version_diff(
    context: Context,
    name: Name,
    namespace: Name | None = None,
    first: Annotated[
        str | None, Query(alias="from", min_length=1, description="a number, or the beginning of an id")
    ] = None,
    last: Annotated[str | None, Query(alias="to", min_length=1, description="as `from`")] = None,
) -> Response:
    """Return the differences between two versions of a job, by default the current and the previous version."""
    versions = job_versions(context.reader, entity_query(name, namespace, "job").node(context), MOST_VERSIONS)
    return context.answer(version_diff(*two_versions(versions, first, last)))


def _job_versions(reader: GraphReader, job: Node, limit: int, cursor: str | None) -> dict[str, Any]:
    below = None if cursor is None else int(position_of(cursor, int)[0])
    lines = job_versions(reader, job, limit, below)
    more = bool(lines) and not lines[-1].oldest
    return {"versions": [line.value() for line in lines]} | _next_if(more, *([lines[-1].number] if more else []))


def _dataset_versions(reader: GraphReader, dataset: Node, limit: int, cursor: str | None) -> dict[str, Any]:
    moment, version = NEWEST if cursor is None else position_of(cursor, int, str)
    lines = dataset_versions(reader, dataset, limit + 1, (moment, version))
    more, shown = len(lines) > limit, lines[:limit]
    return {"versions": [line.value() for line in shown]} | _next_if(more, *(shown[-1].position if more else ()))


@routes.get("/reports")
def get_reports(request: Request) -> Response:
    """Return the names of all reports."""
    return answered(request, {"reports": list(ALL_REPORTS)})


@routes.get("/reports/exposure")
def get_exposure(
    context: Context,
    through_masking: Annotated[list[str], Query(default_factory=list, description="tags that masking does not end")],
    tag: Annotated[str | None, Query(min_length=1, max_length=2_000)] = None,
    indirect: bool = False,
    limit: Rows = 100,
    cursor: Cursor = None,
    active_since: Time = None,
) -> Response:
    """Return the columns that hold data with a tag, or with any, and are not tagged, the nearest first, with one way there."""
    skip = skipped(cursor)
    query = ExposureQuery(tag, indirect, frozenset(through_masking), read_time(active_since))
    found = exposure(context.reader, query, limit, skip)
    # More columns than the traversal reaches are on no page.
    more = len(found.rows) == limit and found.truncated
    return context.answer(found.value() | _next_if(more, skip + limit))


@routes.get("/reports/{name}")
def get_report(
    context: Context, name: str, limit: Rows = 100, cursor: Cursor = None, active_since: Time = None
) -> Response:
    """Return a report on missing or suspicious metadata."""
    if name not in ALL_REPORTS:
        raise Problem(404, f"there is no report {name!r}: the reports are {', '.join(ALL_REPORTS)}")
    skip, since = skipped(cursor), read_time(active_since)
    match name:
        case "coverage":
            found = coverage(context.reader, limit, skip)
        case "dead-letters":
            found = _page_of(context.letters(), skip, limit)
        case _:
            found = report(context.reader, name, context.now, limit, skip, since)
    return context.answer(found.value() | _next_if(found.truncated, skip + limit))


def _page_of(whole: Report, skip: int, limit: int) -> Report:
    return replace(whole, rows=whole.rows[skip : skip + limit], truncated=len(whole.rows) > skip + limit)
