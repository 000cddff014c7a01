"""The application: routes, guard, errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NoReturn, ParamSpec, TypeVar

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import GraphReader

from . import (
    cypher_api,
    dead_letters_api,
    graph_api,
    marquez,
    marquez_changes,
    marquez_columns,
    marquez_lineage,
    marquez_runs,
    marquez_search,
    marquez_stats,
    marquez_versions,
    run_events,
    session_api,
    state_api,
)
from .audit import Audit
from .callers import Callers
from .dead_letters_api import Redrive
from .graph_api import Letters
from .guard import Guard
from .ingest import EventSink, ingest_routes
from .marquez_changes import TagChanges
from .marquez_paths import EncodedNames, error_members
from .mcp_api import AgentEndpoint
from .page_files import page_files
from .problems import RETRY_SECONDS, Problem, add_handlers, described
from .readiness import Readiness, health
from .run_events import Streams
from .settings import WebSettings
from .state_api import Ends

Given = ParamSpec("Given")
Result = TypeVar("Result")
OPENAPI = "/api/v1/openapi.json"
DESCRIPTION = "Data lineage of runs, jobs, datasets and columns. Errors are application/problem+json."


def _now() -> datetime:
    return datetime.now(UTC)


def _without_kafka(*_: object) -> NoReturn:
    raise Problem(503, "this server has no Kafka settings: set HEADWATER_KAFKA_BOOTSTRAP_SERVERS")


def _exclusive(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a function that serves one request at a time, since it reads the whole dead-letter topic."""
    running = threading.Lock()

    def exclusive(*given: Given.args, **named: Given.kwargs) -> Result:
        if not running.acquire(blocking=False):
            detail = "the dead letters are being read for another request: send the request again later"
            raise Problem(429, detail, {"Retry-After": str(RETRY_SECONDS)})
        try:
            return work(*given, **named)
        finally:
            running.release()

    return exclusive


def create_app(
    reader: GraphReader,
    sink: EventSink,
    settings: WebSettings,
    clock: Callable[[], datetime] = _now,
    letters: Letters | None = None,
    cypher: FreeCypher | None = None,
    ends: Ends | None = None,
    redrive: Redrive | None = None,
) -> FastAPI:
    """Return the application over a graph and an event sink; it never writes to the graph itself.

    Without ``cypher`` the server does not run free Cypher queries, without ``ends`` it does not know the consumer's lag, without
    ``redrive`` it can send no dead letter back.
    """
    agents = AgentEndpoint(reader, settings, clock, cypher)
    app = FastAPI(
        lifespan=agents.running,
        title="headwater",
        version="1",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=OPENAPI,
        responses=described(),
    )
    app.state.reader, app.state.settings, app.state.clock = reader, settings, clock
    app.state.letters, app.state.cypher = _exclusive(letters or _without_kafka), cypher
    app.state.redrive = _exclusive(redrive or _without_kafka)
    app.state.sink, app.state.tag_changes = sink, TagChanges()
    app.state.ends, app.state.streams = ends, Streams(reader, clock, settings.streams)
    # Before the routes of runs, whose ids may contain anything.
    app.include_router(run_events.routes)
    app.include_router(state_api.routes)
    app.include_router(graph_api.routes)
    app.include_router(cypher_api.routes)
    app.include_router(session_api.routes)
    app.include_router(dead_letters_api.routes)
    # Resources below a job or dataset come before it, whose name may contain anything.
    for part in (marquez_runs, marquez_columns, marquez_versions, marquez_stats, marquez_search, marquez_lineage):
        app.include_router(part.routes)
    for part in (marquez_changes, marquez):
        app.include_router(part.routes)
    app.include_router(ingest_routes(sink, settings))
    app.router.routes.append(agents.route())
    readiness = Readiness({"questions": lambda: reader.rows("catalog/answers"), "ingest": sink.check})
    probes: dict[str, ASGIApp] = {"/healthz": health, "/readyz": readiness}
    app.state.callers = callers = Callers(settings)
    app.add_middleware(EncodedNames)
    app.add_middleware(Guard, settings=settings, callers=callers, open_paths=probes, page=page_files())
    if settings.cors_origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(settings.cors_origins), allow_headers=["Authorization"])
    app.add_middleware(Audit, settings=settings)
    add_handlers(app, error_members)
    return app
