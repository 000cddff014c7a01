"""The tools of agents: a tool for each question, the size of answers, and the SDK's own client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import neo4j
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from headwater_graph.agents.outline import one_line
from headwater_graph.agents.server import agent_server
from headwater_graph.agents.tools import LEAST_CHARACTERS, LONGEST_LINE, sized
from headwater_graph.queries.answers import Answer, Edge, Node, Truncation
from headwater_graph.queries.asking import QUESTIONS, Details, Graph, Lineage
from headwater_graph.queries.free_cypher.recipes import recipes
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings

from ..given_answers import GivenAnswers
from .graph_maker import GraphMaker

Result = TypeVar("Result")
DOCUMENT = Path(__file__).parents[2] / "docs" / "agents.md"


def asked(server: object, work: Callable[[Client], Awaitable[Result]]) -> Result:
    """Connect the client of the SDK to a server, and return the result of some work with it."""

    async def connected() -> Result:
        async with Client(server, read_timeout_seconds=120) as client:  # type: ignore[arg-type]
            return await work(client)

    return asyncio.run(connected())


async def called(client: Client, tool: str, arguments: dict[str, object]) -> tuple[str, bool]:
    """The text of an answer, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text, bool(result.is_error)


async def text_of(client: Client, tool: str, **arguments: object) -> str:
    text, is_error = await called(client, tool, arguments)
    assert not is_error, text
    return text


async def error_of(client: Client, tool: str, **arguments: object) -> str:
    text, is_error = await called(client, tool, arguments)
    assert is_error, text
    return text


@pytest.fixture
def graph(reader: Neo4jReader) -> Graph:
    return Graph(reader, cypher=FreeCypher(reader, 30.0, 100, "--timeout", strangers=True))


def test_every_question_is_a_tool_with_its_parameters() -> None:
    tools = asked(agent_server(Graph(GivenAnswers())), lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == [question.name for question in QUESTIONS]
    for tool, question in zip(tools, QUESTIONS, strict=True):
        assert tool.description == question.help
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        members = tool.input_schema["properties"]
        assert {*members, "neighbours", "nodes"} >= {each.name for each in question.parameters} | {"skip"}
        required = [each.name for each in question.parameters if each.is_required]
        assert tool.input_schema.get("required", []) == required
        for each in question.parameters:
            if each.name in members:
                assert members[each.name]["description"] == each.given.help
                assert each.is_required or members[each.name]["default"] == (
                    each.default or members[each.name]["default"]
                )


def test_a_misspelt_parameter_is_an_error() -> None:
    server = agent_server(Graph(GivenAnswers()))
    text = asked(server, lambda client: error_of(client, "upstream", name="x", as_off="2d"))
    assert "as_off" in text


def test_defaults_are_within_the_limits_of_the_server() -> None:
    server = agent_server(Graph(GivenAnswers(), most=TraversalLimits(3, 10, 10)), TraversalLimits(3, 10, 10))
    tools = asked(server, lambda client: client.list_tools()).tools
    assert {tool.input_schema["properties"].get("depth", {}).get("default") for tool in tools} == {None, 3}
    text = asked(server, lambda client: error_of(client, "upstream", name="x", depth=4))
    assert "depth is at most 3 here" in text


def test_an_answer_has_at_most_the_characters_of_the_limit_and_names_the_call_that_shows_the_rest() -> None:
    lines = [f"line {number} " + "x" * (number % 40) for number in range(200)]
    seen: list[str] = []
    skip, calls = 0, 0
    while True:
        text = sized(lines, skip, LEAST_CHARACTERS, lambda after: f'upstream(name="a", skip={after})')
        assert len(text) <= LEAST_CHARACTERS
        *shown, last = text.splitlines()
        calls += 1
        more = re.fullmatch(r'\+(\d+) more lines: upstream\(name="a", skip=(\d+)\)', last)
        if more is None:
            seen += [*shown, last]
            break
        seen += shown
        skip = int(more[2])
        assert int(more[1]) == len(lines) - skip
        assert calls < len(lines)
    assert seen == lines


def test_a_line_that_is_too_long_is_shortened_and_each_answer_makes_progress() -> None:
    text = sized(["x" * 10 * LONGEST_LINE, "y"], 0, LEAST_CHARACTERS, lambda skip: f"f(skip={skip})")
    assert text.endswith("+1 more lines: f(skip=1)")
    assert len(text) < LONGEST_LINE + 100
    assert sized(["a"], 1, 500, str) == "no more lines"
    assert sized([], 0, 500, str) == "nothing"


def test_no_name_breaks_a_line() -> None:
    assert one_line("a\nb\x1b[0m\u2028é") == "a\\nb\\x1b[0m\\u2028é"


def lines_of(server_graph: Graph, tool: str, **arguments: object) -> list[str]:
    return asked(agent_server(server_graph), lambda client: text_of(client, tool, **arguments)).splitlines()


def test_lineage_is_one_line_for_each_node_and_each_job(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert lines_of(graph, "upstream", name=f"{ns}#table") == [
        f"upstream of {ns}#table: 6 nodes, complete",
        f"0 dataset {ns}#table writtenAt=2026-01-01T03:00:00.000000Z",
        f"1 dataset {ns}#orders writtenAt=2026-01-01T01:00:00.000000Z",
        f"1 dataset {ns}#rates",
        f"1 job {ns}#report lastRunState=FAIL lastRunAt=2026-01-01T03:00:00.000000Z",
        f"2 dataset {ns}#raw",
        f"2 job {ns}#load lastRunState=COMPLETE lastRunAt=2026-01-01T01:00:00.000000Z",
        f"job {ns}#report: {ns}#orders, {ns}#rates -> {ns}#table",
        f"job {ns}#load: {ns}#raw -> {ns}#orders",
    ]
    truncated = lines_of(graph, "upstream", name=f"{ns}#table", depth=1)
    assert truncated[:2] == [
        f"upstream of {ns}#table: 4 nodes, not complete",
        f"cut at {ns}#orders by the limit depth: 0 of 1 shown",
    ]


def test_names_of_an_answer_can_be_given_to_the_next_question(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    found = lines_of(graph, "columns", name=f"{ns}#orders")
    assert f"{ns}#raw#a -> {ns}#orders#amount (derives DIRECT IDENTITY by job {ns}#load)" in found
    again = lines_of(graph, "columns", name=f"{ns}#orders#amount")
    assert again[0] == f"upstream of {ns}#orders: 2 nodes, complete"
    for line in lines_of(graph, "upstream", name=f"{ns}#table")[1:7]:
        name = line.split()[2]
        assert lines_of(graph, "show", name=name)[0].endswith(name)


def test_an_agent_finds_why_a_run_failed_that_worked_before(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    runs = lines_of(graph, "runs", job=f"{ns}#report", state="FAIL")
    assert runs[0] == "runs:"
    run = runs[1].split()[1].removeprefix("id=")
    assert f"job={ns}#report state=FAIL" in runs[1]
    assert "error: boom" in lines_of(graph, "run", run=run)
    difference = lines_of(graph, "run_diff", run=run)
    assert "- what=state before=COMPLETE after=FAIL" in difference
    assert any("rates" in line for line in difference)
    assert lines_of(graph, "impact", name=f"{ns}#raw", columns=["a"])[1:] == [
        f"1 column {ns}#orders#amount", f"1 dataset {ns}#orders writtenAt=2026-01-01T01:00:00.000000Z",
        f"1 job {ns}#load lastRunState=COMPLETE lastRunAt=2026-01-01T01:00:00.000000Z",
    ]  # fmt: skip


def test_every_tool_answers(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    run = graph.runs(job=(ns, "report")).items[0].id
    given: dict[str, dict[str, object]] = {
        "find": {"text": "orders"},
        "path": {"source": f"{ns}#raw", "target": f"{ns}#table"},
        "run": {"run": run},
        "run_graph": {"run": run},
        "run_diff": {"run": run},
        "job_diff": {"name": f"{ns}#report"},
        "report": {"name": "coverage"},
        "cypher": {"query": "RETURN $a AS one", "parameters": {"a": 1}},
        "run_columns": {"version": graph.versions((ns, "orders")).items[0].id, "columns": ["total"]},
        "exposure": {},
        "runs": {},
        "overview": {},
    }

    async def all_of(client: Client) -> dict[str, str]:
        names = [question.name for question in QUESTIONS if question.name != "operations"]
        return {name: await text_of(client, name, **given.get(name, {"name": f"{ns}#orders"})) for name in names}

    answers = asked(agent_server(graph, characters=2_000), all_of)
    assert max(map(len, answers.values())) <= 2_000 + LONGEST_LINE
    assert all(answers.values())
    assert "- one=1" in answers["cypher"]


def test_cypher_of_agents_reads_the_graph_alone(graph: Graph) -> None:
    refusals = {"CREATE (:X)": "would write", "CALL db.labels()": "only the graph can be read here"}

    async def all_of(client: Client) -> dict[str, str]:
        return {query: await error_of(client, "cypher", query=query) for query in refusals}

    for query, text in asked(agent_server(graph), all_of).items():
        assert refusals[query] in text


def test_a_server_does_not_change_the_log_of_the_program() -> None:
    code = """if True:
        import logging
        from headwater_graph.agents.server import agent_server
        from headwater_graph.queries.asking import Graph
        agent_server(Graph(None))
        assert (logging.root.handlers, logging.root.level) == ([], logging.WARNING), logging.root.handlers
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_schema_and_recipes_are_resources() -> None:
    async def read(client: Client) -> dict[str, str]:
        listed = await client.list_resources()
        found = {str(each.uri): await client.read_resource(str(each.uri)) for each in listed.resources}
        return {uri: content.contents[0].text for uri, content in found.items()}  # type: ignore[union-attr]

    texts = asked(agent_server(Graph(GivenAnswers())), read)
    assert set(texts) == {"headwater://schema", "headwater://recipes"}
    assert ":Dataset" in texts["headwater://schema"]
    assert all(recipe.text in texts["headwater://recipes"] for recipe in recipes())


def test_the_rest_of_a_long_answer_is_a_call_with_the_same_arguments(
    graph: Graph, maker: GraphMaker, driver: neo4j.Driver
) -> None:
    ns = maker.namespace
    maker.run("wide", ["one"], [f"out_{number:03}" for number in range(60)], hour=1)
    maker.store(driver)

    async def whole(client: Client) -> list[str]:
        lines: list[str] = []
        arguments: dict[str, object] = {"name": f"{ns}#one", "depth": 3}
        for _ in range(60):
            *shown, last = (await text_of(client, "downstream", **arguments)).splitlines()
            more = re.fullmatch(r"\+\d+ more lines: downstream\((.*)\)", last)
            lines += shown if more else [*shown, last]
            if more is None:
                break
            arguments = {name: json.loads(value) for name, value in re.findall(r'(\w+)=("[^"]*"|\d+)', more[1])}
        return lines

    lines = asked(agent_server(graph, characters=1_000), whole)
    assert len([line for line in lines if line.startswith("1 dataset")]) == 60
    assert arguments_of(lines) == 62


def arguments_of(lines: list[str]) -> int:
    """The number of nodes in the head of an answer."""
    found = re.search(r": (\d+) nodes", lines[0])
    assert found is not None
    return int(found[1])


def test_past_edges_truncations_and_facets_are_shown() -> None:
    answer = Answer(
        {"direction": "upstream", "start": ["ns", "t"]},
        ("t",),
        (Node("t", "dataset", ("ns", "t"), 0, ("no writer now",), {"lastWriter": {"job": ["ns", "j"], "run": "r"}}),
         Node("j", "job", ("ns", "j"), 1)),
        (Edge("j", "t", "produces", former=True),),
        (Truncation(None, "size", 2),),
    )  # fmt: skip
    from headwater_graph.agents.outline import outline

    assert list(outline(Lineage(answer))) == [
        "upstream of ns#t: 2 nodes, not complete",
        "cut by the limit size: 2 shown",
        "0 dataset ns#t [no writer now] lastWriter=ns#j",
        "1 job ns#j",
        "ns#j -> ns#t (produces past)",
    ]
    details = Details(
        None, {"node": ["dataset", "ns", "t"], "facets": {"schema": {}}, "upstream": [["job", "ns", "j"]]}, ()
    )
    assert list(outline(details)) == ["node: dataset ns#t", "facets: schema", "upstream:", "- job ns#j"]


def test_the_command_answers_over_standard_input_and_output(
    graph_server: GraphSettings, stored: GraphMaker, tmp_path: Path
) -> None:
    """With the configuration that the document shows, which the client of the SDK starts as other clients do."""
    (block,) = re.findall(r"^```json\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[:1]
    shown = json.loads(block)["mcpServers"]["headwater"]
    assert shown["command"] == "headwater"
    password = graph_server.password.get_secret_value()
    values = {"HEADWATER_NEO4J_URI": str(graph_server.uri), "HEADWATER_NEO4J_PASSWORD": password}
    assert set(shown["env"]) <= {*values, "HEADWATER_NEO4J_USER"}
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HEADWATER_HOME": str(tmp_path)}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "headwater_cli", *shown["args"]], env=values | path, cwd=tmp_path
    )

    async def conversation(client: Client) -> tuple[str, int]:
        return await text_of(client, "downstream", name=f"{stored.namespace}#raw"), len(
            (await client.list_tools()).tools
        )

    text, tools = asked(command, conversation)
    assert f"job {stored.namespace}#load: {stored.namespace}#raw -> {stored.namespace}#orders" in text
    assert tools == len(QUESTIONS)
