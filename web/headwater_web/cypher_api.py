"""Free Cypher over HTTP: whatever can be read in the graph, and in the graph alone."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from headwater_graph.queries.free_cypher.run import FreeCypher

from .problems import Problem

ROWS = 1_000
"""How many rows an answer has where nobody says otherwise."""

routes = APIRouter(prefix="/api/v1/graph", tags=["graph"])


class CypherQuestion(BaseModel):
    """A text in Cypher, its parameters, and how many rows are wanted at most."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=100_000)
    parameters: dict[str, Any] = Field(default_factory=dict)
    limit: int | None = Field(default=None, ge=1, description="1000, or what this server allows, where none is given")


def free_cypher(request: Request) -> FreeCypher:
    """Return what free Cypher is asked of; raises Problem where this server has none."""
    found: FreeCypher | None = request.app.state.cypher
    if found is None:
        raise Problem(404, "this server takes no Cypher (HEADWATER_WEB_CYPHER_TIMEOUT)")
    return found


@routes.post("/cypher")
def post_cypher(question: CypherQuestion, cypher: Annotated[FreeCypher, Depends(free_cypher)]) -> Response:
    """Rows of a question in Cypher that only reads, as `headwater cypher --json` prints them, and whether there are more.

    Procedures, LOAD CSV and questions about the server are refused.
    """
    limit = question.limit or min(ROWS, cypher.rows)
    if limit > cypher.rows:
        raise Problem(400, f"limit is at most {cypher.rows} here")
    found = cypher.within(limit).run(question.query, question.parameters)
    return JSONResponse({"columns": found.columns, "rows": found.rows, "more": found.more})
