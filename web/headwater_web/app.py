"""The application: routes, guard, errors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from fastapi import FastAPI, Request, Response
from starlette.middleware.cors import CORSMiddleware

from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.reports.reports import Report

from . import cypher_api, graph_api, marquez, marquez_columns, marquez_runs, marquez_stats, marquez_versions
from .graph_api import Letters
from .guard import Guard
from .ingest import Outlet, ingest_routes
from .problems import Problem, add_handlers, described
from .settings import WebSettings

OPENAPI = "/api/v1/openapi.json"
DESCRIPTION = "Data lineage: what feeds what, run by run and now. Errors are application/problem+json."


def _now() -> datetime:
    return datetime.now(UTC)


def _no_letters() -> Report:
    raise Problem(503, "this server knows no Kafka: set HEADWATER_KAFKA_BOOTSTRAP_SERVERS")


def create_app(
    reader: GraphReader,
    outlet: Outlet,
    settings: WebSettings,
    clock: Callable[[], datetime] = _now,
    letters: Letters | None = None,
    cypher: FreeCypher | None = None,
) -> FastAPI:
    """Return the application over a graph and a way to Kafka; it never writes to the graph itself.

    Without ``cypher`` nobody asks in free Cypher.
    """
    app = FastAPI(
        title="headwater",
        version="1",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=OPENAPI,
        responses=described(),
    )
    app.state.reader, app.state.settings, app.state.clock = reader, settings, clock
    app.state.letters, app.state.cypher = letters or _no_letters, cypher
    app.include_router(graph_api.routes)
    app.include_router(cypher_api.routes)
    for part in (marquez_runs, marquez_columns, marquez_versions, marquez_stats, marquez):
        app.include_router(part.routes)
    app.include_router(ingest_routes(outlet, settings))
    app.add_api_route("/healthz", _health, methods=["GET"], include_in_schema=False)
    app.add_api_route("/readyz", _readiness, methods=["GET"], include_in_schema=False)
    app.add_middleware(Guard, settings=settings)
    if settings.cors_origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(settings.cors_origins), allow_headers=["Authorization"])
    add_handlers(app)
    return app


def _health() -> Response:
    return Response("ok\n", media_type="text/plain")


def _readiness(request: Request) -> Response:
    """Whether the graph answers; an error of it is told as 503 by the handlers."""
    request.app.state.reader.rows("catalog/answers")
    return Response("ready\n", media_type="text/plain")
