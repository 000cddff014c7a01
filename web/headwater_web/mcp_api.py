"""``/mcp``: the questions as tools of the Model Context Protocol over streamable HTTP, behind the guard like all addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

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

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

PATH = "/mcp"
Applications: TypeAlias = dict[bool, ASGIApp]


class AgentEndpoint:
    """The address of the tools: each request is answered by itself, so that any server with the same graph can answer it.

    There are two applications, by whether callers may query in free Cypher.
    """

    def __init__(
        self, reader: GraphReader, settings: WebSettings, clock: Callable[[], datetime], cypher: FreeCypher | None
    ) -> None:
        self._most = TraversalLimits(settings.max_depth, settings.max_nodes, settings.max_nodes)
        self._graphs = {may: Graph(reader, clock, cypher if may else None, self._most) for may in (False, True)}
        self._characters, self._max_body = settings.mcp_characters, settings.max_body
        self._starting: asyncio.Lock | None = None
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._applications: Applications = {}

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
        """Allow requests while the application runs; the tools are made with the first one."""
        self._starting, self._stop, self._serving = asyncio.Lock(), asyncio.Event(), None
        try:
            yield
        finally:
            self._stop.set()
            if self._serving is not None:
                await self._serving
            self._starting, self._applications = None, {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope.get(SCOPE_KEY)
        answer = await self._answer(may_query=caller is not None and caller.may("cypher"))
        await answer(scope, receive, send)

    async def _answer(self, may_query: bool) -> ASGIApp:
        if self._starting is None or not self.is_available:
            return problem(404, "this server has no tools for agents (HEADWATER_WEB_MCP_CHARACTERS)")
        async with self._starting:
            if not self._applications:
                # Importing the package and making the tools takes a second, in which other requests are answered.
                servers = await asyncio.to_thread(self._servers)
                ready: asyncio.Future[Applications] = asyncio.get_running_loop().create_future()
                serving = asyncio.create_task(self._serve(servers, ready))
                begun: set[asyncio.Future[Any]] = {serving, ready}
                await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    # Not ready: it has failed, and its error is that of this request.
                    await serving
                self._serving, self._applications = serving, await ready
            return self._applications[may_query]

    def _servers(self) -> dict[bool, MCPServer[None]]:
        from headwater_graph.agents.server import agent_server

        return {may: agent_server(graph, self._most, self._characters) for may, graph in self._graphs.items()}

    async def _serve(self, servers: dict[bool, MCPServer[None]], ready: asyncio.Future[Applications]) -> None:
        """Run the sessions of the servers until the application stops; they begin and end in one task."""
        from mcp.server.transport_security import TransportSecuritySettings

        # The guard checks hosts and origins, of this address as of all others.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        applications: Applications = {}
        async with AsyncExitStack() as sessions:
            for may_query, server in servers.items():
                applications[may_query] = server.streamable_http_app(
                    streamable_http_path=PATH,
                    json_response=True,
                    stateless_http=True,
                    transport_security=unchecked,
                    max_request_body_size=self._max_body,
                )
                await sessions.enter_async_context(server.session_manager.run())
            ready.set_result(applications)
            await self._stop.wait()
