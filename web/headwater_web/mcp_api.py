"""``/mcp``: the questions as tools of the Model Context Protocol over streamable HTTP, behind the guard like all addresses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from importlib.util import find_spec

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater_graph.queries.asking import Graph
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import GraphReader

from .callers import SCOPE_KEY, Caller
from .problems import problem
from .settings import WebSettings

PATH = "/mcp"


class AgentEndpoint:
    """The address of the tools: each request is answered by itself, so that any server with the same graph can answer it.

    There are two applications: one for callers who may query in free Cypher, and one for the others.
    """

    def __init__(
        self, reader: GraphReader, settings: WebSettings, clock: Callable[[], datetime], cypher: FreeCypher | None
    ) -> None:
        self._most = TraversalLimits(settings.max_depth, settings.max_nodes, settings.max_nodes)
        self._graphs = {may: Graph(reader, clock, cypher if may else None, self._most) for may in (False, True)}
        self._characters, self._max_body = settings.mcp_characters, settings.max_body
        self._applications: dict[bool, ASGIApp] = {}

    @property
    def is_available(self) -> bool:
        """Return whether the settings allow it and the package is installed (extra ``mcp``)."""
        return self._characters > 0 and find_spec("mcp") is not None

    def route(self) -> Route:
        """Return the route to it."""
        # Without GET: it would open a stream on which this server never sends anything.
        return Route(PATH, endpoint=self, methods=["POST"], include_in_schema=False)

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """Serve while the application runs."""
        if not self.is_available:
            yield
            return
        # Imported here: it takes a second, and the package may be absent.
        from mcp.server.transport_security import TransportSecuritySettings

        from headwater_graph.agents.server import agent_server

        # The guard checks hosts and origins, of this address as of all others.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        async with AsyncExitStack() as stack:
            stack.callback(self._applications.clear)
            for may_query, graph in self._graphs.items():
                server = agent_server(graph, self._most, self._characters)
                self._applications[may_query] = server.streamable_http_app(
                    streamable_http_path=PATH,
                    json_response=True,
                    stateless_http=True,
                    transport_security=unchecked,
                    max_request_body_size=self._max_body,
                )
                await stack.enter_async_context(server.session_manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope.get(SCOPE_KEY)
        found = self._applications.get(caller is not None and caller.may("cypher"))
        answer = found or problem(404, "this server has no tools for agents (HEADWATER_WEB_MCP_CHARACTERS)")
        await answer(scope, receive, send)
