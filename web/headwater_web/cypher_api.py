"""Free Cypher over HTTP: read-only queries of the graph alone."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from headwater_graph.queries.free_cypher.run import FreeCypher

from .problems import Problem

ROWS = 1_000
"""Default number of rows of an answer."""

routes = APIRouter(prefix="/api/v1/graph", tags=["graph"])


class CypherQuestion(BaseModel):
    """A Cypher query, its parameters, and the maximum number of rows."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=100_000)
    parameters: dict[str, Any] = Field(default_factory=dict)
    limit: int | None = Field(default=None, ge=1, description="by default 1000, or the server's limit if that is lower")


def free_cypher(request: Request) -> FreeCypher:
    """Return the runner of free Cypher queries; raises Problem if this server has none."""
    found: FreeCypher | None = request.app.state.cypher
    if found is None:
        raise Problem(404, "this server does not run Cypher queries: set HEADWATER_WEB_CYPHER_TIMEOUT")
    return found


@routes.post("/cypher")
def post_cypher(question: CypherQuestion, cypher: Annotated[FreeCypher, Depends(free_cypher)]) -> Response:
    """Run a read-only Cypher query; return rows as `headwater cypher --json` prints them, and whether there are more.

    Procedures, LOAD CSV and queries about the server are refused.
    """
    limit = question.limit or min(ROWS, cypher.rows)
    if limit > cypher.rows:
        raise Problem(400, f"limit is at most {cypher.rows} here")
    found = cypher.within(limit).run(question.query, question.parameters)
    return JSONResponse({"columns": found.columns, "rows": found.rows, "more": found.more})
