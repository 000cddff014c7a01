"""The server of the Model Context Protocol: a tool for each question, and the schema and recipes as resources."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import TextResource

from headwater_graph.queries.asking import Graph
from headwater_graph.queries.free_cypher.recipes import model, recipes
from headwater_graph.queries.lineage.scope import TraversalLimits

from .tools import CHARACTERS, Tools

INSTRUCTIONS = """Data lineage: which jobs read and write which datasets and columns, now and run by run. All tools only read.
Names are namespace#name as answers print them, or an unambiguous tail of a name; `find` finds names. Times are 2026-01-31,
2026-01-31T12:00:00Z, or an age such as 2h or 3d.
What breaks if a column is dropped: impact with `columns`. Why a run failed that worked before: `runs` of the job with state FAIL,
then `run` and `run_diff` of it. For other questions `cypher`; read the resource headwater://schema first.
An answer that is too long ends with "+N more lines" and the call that shows them."""


def agent_server(graph: Graph, most: TraversalLimits | None = None, characters: int = CHARACTERS) -> MCPServer[None]:
    """Return the server over a graph; ``most`` are the greatest limits of a question, ``characters`` that of an answer."""
    tools = Tools(graph, most or TraversalLimits(100), characters)
    with _logging_unchanged():
        return MCPServer(
            "headwater",
            instructions=INSTRUCTIONS,
            version=version("headwater"),
            tools=tools.all(),
            resources=[*_resources()],
            subscriptions=False,
        )


@contextmanager
def _logging_unchanged() -> Iterator[None]:
    """Restore the root logger, which the constructor of a server configures: it belongs to the program."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _resources() -> list[TextResource]:
    questions = "\n\n".join(f"{recipe.shown()}\n// parameters: {', '.join(recipe.parameters)}" for recipe in recipes())
    texts = (
        ("schema", "The labels, relationships and properties of the graph, for the tool cypher.", model()),
        ("recipes", "Questions in Cypher to copy and change, for the tool cypher.", questions),
    )
    return [
        TextResource(uri=f"headwater://{name}", name=name, description=help_text, text=text, mime_type="text/plain")
        for name, help_text, text in texts
    ]
