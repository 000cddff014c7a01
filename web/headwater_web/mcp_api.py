"""``/mcp``: the questions as tools of the Model Context Protocol over streamable HTTP, behind the guard like all addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater_graph.queries.asking import Graph
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import GraphReader

from .problems import problem
from .settings import WebSettings

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

PATH = "/mcp"


class AgentEndpoint:
    """The address of the tools: each request is answered by itself, so that any server with the same graph can answer it."""

    def __init__(
        self, reader: GraphReader, settings: WebSettings, clock: Callable[[], datetime], cypher: FreeCypher | None
    ) -> None:
        self._most = TraversalLimits(settings.max_depth, settings.max_nodes, settings.max_nodes)
        self._graph = Graph(reader, clock, cypher, self._most)
        self._characters, self._max_body = settings.mcp_characters, settings.max_body
        self._starting: asyncio.Lock | None = None
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._application: ASGIApp | None = None

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
            self._starting = self._application = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._answer())(scope, receive, send)

    async def _answer(self) -> ASGIApp:
        if self._starting is None or not self.is_available:
            return problem(404, "this server has no tools for agents (HEADWATER_WEB_MCP_CHARACTERS)")
        async with self._starting:
            if self._application is None:
                # Importing the package and making the tools takes a second, in which other requests are answered.
                server = await asyncio.to_thread(self._server)
                ready: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
                serving = asyncio.create_task(self._serve(server, ready))
                begun: set[asyncio.Future[Any]] = {serving, ready}
                await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    # Not ready: it has failed, and its error is that of this request.
                    await serving
                self._serving, self._application = serving, await ready
            return self._application

    def _server(self) -> MCPServer[None]:
        from headwater_graph.agents.server import agent_server

        return agent_server(self._graph, self._most, self._characters)

    async def _serve(self, server: MCPServer[None], ready: asyncio.Future[ASGIApp]) -> None:
        """Run the sessions of a server until the application stops; they begin and end in one task."""
        from mcp.server.transport_security import TransportSecuritySettings

        # The guard checks hosts and origins, of this address as of all others.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        application = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            transport_security=unchecked,
            max_request_body_size=self._max_body,
        )
        async with server.session_manager.run():
            ready.set_result(application)
            await self._stop.wait()
