"""The tools of agents at /mcp, by the SDK's own client over a real socket: the same tokens, hosts and limits as elsewhere."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.types import TextContent
from pydantic import SecretStr

from headwater_avro.errors import ConfigError
from headwater_graph.queries.asking import QUESTIONS
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import Neo4jReader
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.mcp_api import AgentEndpoint
from headwater_web.settings import web_settings
from headwater_web.tokens import add_token, made_token

from ..given_answers import GivenAnswers
from ..queries.graph_maker import GraphMaker
from .conftest import NOW
from .raw import client_of, sent, serving

Result = TypeVar("Result")
TOKENS = WebSettings(tokens=(SecretStr("open"),))
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
DOCUMENT = Path(__file__).parents[2] / "docs" / "agents.md"


def app_of(reader: Any, settings: WebSettings, cypher: FreeCypher | None = None) -> FastAPI:
    return create_app(reader, MemorySink(), settings, lambda: NOW, cypher=cypher)


def asked(
    app: FastAPI,
    settings: WebSettings,
    headers: dict[str, str],
    work: Callable[[Client], Awaitable[Result]],
    mode: Any = "auto",
) -> Result:
    async def connected(port: int) -> Result:
        async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
            async with Client(transport, read_timeout_seconds=120, mode=mode) as client:
                return await work(client)

    with serving(app, settings) as port:
        return asyncio.run(connected(port))


async def text_of(client: Client, tool: str, **arguments: object) -> str:
    (content,) = (await client.call_tool(tool, arguments)).content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_asks_over_http_with_a_token(mode: str, reader: Neo4jReader, stored: GraphMaker) -> None:
    ns = stored.namespace

    async def conversation(client: Client) -> tuple[list[str], str, str]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        lineage = await text_of(client, "upstream", name=f"{ns}#table")
        return tools, lineage, await text_of(client, "cypher", query="RETURN 1 AS one")

    cypher = FreeCypher(reader, 30.0, 10, "X", strangers=True)
    headers = {"Authorization": "Bearer open"}
    tools, lineage, rows = asked(app_of(reader, TOKENS, cypher), TOKENS, headers, conversation, mode)
    assert tools == [question.name for question in QUESTIONS]
    assert f"job {ns}#load: {ns}#raw -> {ns}#orders" in lineage.splitlines()
    assert "- one=1" in rows


def test_the_document_shows_the_address_and_the_header() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shown = json.loads(blocks[1])["mcpServers"]["headwater"]
    token = shown["headers"]["Authorization"].replace("…", "open")
    with client_of(app_of(GivenAnswers(), TOKENS)) as client:
        path = httpx2.URL(shown["url"]).path
        answer = client.post(path, json=LIST, headers=accepting({"Authorization": token}))
    assert answer.status_code == 200
    assert len(answer.json()["result"]["tools"]) == len(QUESTIONS)


def accepting(headers: dict[str, str]) -> dict[str, str]:
    return {"Accept": "application/json, text/event-stream", **headers}


def test_without_a_token_nobody_asks() -> None:
    with client_of(app_of(GivenAnswers(), TOKENS)) as client:
        for headers in ({}, {"Authorization": "Bearer other"}):
            answer = client.post("/mcp", json=LIST, headers=accepting(headers))
            assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


def test_without_tokens_only_this_machine_asks() -> None:
    with serving(app_of(GivenAnswers(), WebSettings())) as port:
        body = json.dumps(LIST).encode()
        head = ("Content-Type: application/json", "Accept: application/json, text/event-stream")
        assert sent(port, "/mcp", "Host: localhost", *head, method="POST", body=body)[0] == 200
        assert sent(port, "/mcp", "Host: evil.example", *head, method="POST", body=body)[0] == 403
        assert (
            sent(port, "/mcp", "Host: localhost", "Origin: http://evil.example", *head, method="POST", body=body)[0]
            == 403
        )
        assert sent(port, "/mcp", "Host: localhost", method="GET")[0] == 405


def test_an_application_that_starts_again_answers_again() -> None:
    app = app_of(GivenAnswers(), WebSettings())
    for _ in range(2):
        with client_of(app) as client:
            assert client.post("/mcp", json=LIST, headers=accepting({})).status_code == 200


def test_many_first_requests_make_the_tools_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[AgentEndpoint] = []
    make = AgentEndpoint._servers

    def counted(endpoint: AgentEndpoint) -> dict[bool, MCPServer[None]]:
        made.append(endpoint)
        return make(endpoint)

    monkeypatch.setattr(AgentEndpoint, "_servers", counted)
    app = app_of(GivenAnswers(), WebSettings())
    with client_of(app) as client, ThreadPoolExecutor(8) as threads:
        assert made == []
        answers = list(threads.map(lambda _: client.post("/mcp", json=LIST, headers=accepting({})), range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert len(made) == 1


def test_agents_have_the_limits_of_the_server() -> None:
    settings = WebSettings(max_depth=2, max_nodes=5, mcp_characters=500)

    async def conversation(client: Client) -> str:
        return await text_of(client, "upstream", name="x", depth=3)

    assert "depth is at most 2 here" in asked(app_of(GivenAnswers(), settings), settings, {}, conversation)

    async def cypher(client: Client) -> str:
        return await text_of(client, "cypher", query="RETURN 1")

    assert "Cypher is disabled here" in asked(app_of(GivenAnswers(), settings), settings, {}, cypher)


def test_tokens_need_the_scope_of_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "tokens.txt"
    tokens = {}
    for name, scopes in {"reads": ("read",), "queries": ("read", "cypher"), "sends": ("ingest",)}.items():
        tokens[name], made = made_token(name, scopes)
        add_token(path, made)
    settings = WebSettings(tokens_file=path)
    reader = GivenAnswers()
    with client_of(app_of(reader, settings, FreeCypher(reader, 30.0, 10, "X", strangers=True))) as client:  # type: ignore[arg-type]
        call = {"name": "cypher", "arguments": {"query": "RETURN 1"}}
        answers = {
            name: client.post(
                "/mcp",
                json={**LIST, "method": "tools/call", "params": call},
                headers=accepting({"Authorization": f"Bearer {token}"}),
            )
            for name, token in tokens.items()
        }
    assert answers["sends"].status_code == 403
    assert "Cypher is disabled here" in answers["reads"].text
    assert answers["queries"].status_code == 200
    assert "Cypher is disabled here" not in answers["queries"].text


def test_zero_characters_disable_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with client_of(app_of(GivenAnswers(), WebSettings(mcp_characters=0))) as client:
        assert client.post("/mcp", json=LIST, headers=accepting({})).status_code == 404
    monkeypatch.setattr("headwater_web.mcp_api.find_spec", lambda name: None)
    with client_of(app_of(GivenAnswers(), WebSettings())) as client:
        assert client.post("/mcp", json=LIST, headers=accepting({})).status_code == 404
    with pytest.raises(ConfigError, match=r"HEADWATER_WEB_MCP_CHARACTERS: .*at least 500"):
        web_settings(mcp_characters=10)
