"""``headwater mcp``: the questions as tools for an agent, over standard input and output."""

from __future__ import annotations

import click

from headwater_graph.agents.server import agent_server
from headwater_graph.agents.tools import CHARACTERS, LEAST_CHARACTERS
from headwater_graph.queries.asking import Graph
from headwater_graph.queries.free_cypher.run import FreeCypher

from ..querying import the_graph

ROWS = 10_000


@click.command()
@click.option(
    "--characters",
    type=click.IntRange(LEAST_CHARACTERS),
    default=CHARACTERS,
    show_default=True,
    envvar="HEADWATER_MCP_CHARACTERS",
    show_envvar=True,
    help="The limit of an answer.",
)
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=30.0, show_default=True, help="Of a Cypher query.")
def mcp(characters: int, timeout: float) -> None:
    """Answer an agent's questions about the graph, by the Model Context Protocol over standard input and output.

    The agent's program starts it; docs/agents.md shows its configuration. `headwater serve` has the same tools at /mcp.
    """
    with the_graph() as reader:
        graph = Graph(reader, cypher=FreeCypher(reader, timeout, ROWS, "--timeout", strangers=True))
        agent_server(graph, characters=characters).run("stdio")
