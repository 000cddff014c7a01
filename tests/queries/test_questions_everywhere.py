"""Each question has a command, an HTTP path and a method of Python with the same parameters, and none is in one place alone."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from headwater_cli.main import COMMANDS, headwater
from headwater_graph.queries.asking import QUESTIONS, Graph, Question
from headwater_graph.queries.asking.questions import Given, Places, question, questions_of
from headwater_web import MemorySink, WebSettings, create_app

from ..given_answers import GivenAnswers

ROOT = Path(__file__).parents[2]
PREFIX = "/api/v1/graph"

NO_QUESTIONS = {
    "export": "writes events for another graph, as many as there are",
    "job retire": "sends an event",
}
"""Commands of ``headwater_cli.queries`` that are not questions, and why."""

NO_QUESTION_PATHS = {
    "/runs/{run_id}/events": "a stream that follows a run",
    "/versions/{version}": "a line of the versions of its dataset",
    "/consumer": "the state of the consumer, which operators read by `headwater doctor` and its metrics",
}
"""Paths below /api/v1/graph that are not questions, and why."""

HELPERS = {"active", "find_version"}
"""Functions of ``queries`` that commands and HTTP use beside questions."""


@pytest.fixture(scope="module")
def paths() -> dict[str, Any]:
    described: dict[str, Any] = create_app(GivenAnswers(), MemorySink(), WebSettings()).openapi()["paths"]
    return {path.removeprefix(PREFIX): methods for path, methods in described.items() if path.startswith(PREFIX)}


def command_of(words: list[str]) -> click.Command:
    command: click.Command = headwater
    for word in words:
        assert isinstance(command, click.Group), words
        found = command.get_command(click.Context(command), word)
        assert found is not None, words
        command = found
    return command


def options_of(place: str) -> set[str]:
    """The names of the parameters of a command, as users write them and as the command receives them."""
    words, options = place.split(" --")[0].split(), place.split(" --")[1:]
    names: set[str] = set()
    for parameter in command_of(words).params:
        names |= {parameter.name or ""} | {option.lstrip("-").replace("-", "_") for option in parameter.opts}
    assert set(options) <= names, place
    return names


ARGUMENTS = {"name": "key", "source": "keys", "target": "keys", "run": "run_id", "before": "run_ids", "query": "query"}
"""The names of positional arguments of commands for parameters of questions."""


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.name)
def test_every_question_has_commands_with_its_parameters(asked: Question) -> None:
    assert asked.places.commands
    for place in asked.places.commands:
        names = options_of(place)
        for parameter in asked.parameters:
            if parameter.name in ("direction", "kind", "kinds") and parameter.public_name not in names:
                continue
            known = {parameter.name, parameter.public_name, ARGUMENTS.get(parameter.name), f"{parameter.name[:-1]}"}
            known |= {"run_ids"} if parameter.name == "run" else set()
            known |= {"params"} if parameter.name == "parameters" else set()
            assert names & known, f"`headwater {place}` has no parameter {parameter.name}"


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.name)
def test_every_question_has_http_paths_with_its_parameters(asked: Question, paths: dict[str, Any]) -> None:
    assert asked.places.paths
    names: set[str] = set()
    for path in asked.places.paths:
        assert path in paths, path
        method = paths[path].get("get") or paths[path]["post"]
        names |= {parameter["name"] for parameter in method.get("parameters", ())}
    if "get" not in paths[asked.places.paths[0]]:
        names |= {"query", "parameters", "limit"}
    for parameter in asked.parameters:
        fixed = {"run": "run_id"}.get(parameter.name, parameter.public_name)
        assert names & {parameter.name, fixed}, f"{asked.places.paths} have no parameter {parameter.public_name}"


def leaves(command: click.Command, name: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        for word in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), word)
            assert found is not None
            yield from leaves(found, f"{name} {word}")
    else:
        yield name


def test_no_command_asks_what_is_not_a_question() -> None:
    names = [name for name, (module, _, _) in COMMANDS.items() if module.startswith("queries.")]
    found = {leaf for name in names for leaf in leaves(command_of([name]), name)}
    described = {place.split(" --")[0] for asked in QUESTIONS for place in asked.places.commands}
    assert found - described - NO_QUESTIONS.keys() == set(), "describe it in queries/asking/graph.py"


def test_no_http_path_answers_what_is_not_a_question(paths: dict[str, Any]) -> None:
    described = {path for asked in QUESTIONS for path in asked.places.paths}
    assert paths.keys() - described - NO_QUESTION_PATHS.keys() == set(), "describe it in queries/asking/graph.py"


def imported(file: Path) -> set[str]:
    """The names of functions that a file imports from ``headwater_graph.queries``."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    asking = [node for node in nodes if (node.module or "").startswith("headwater_graph.queries.")]
    return {alias.name for node in asking for alias in node.names if _asks(node.module or "", alias.name)}


def _asks(module: str, name: str) -> bool:
    function = getattr(__import__(module, fromlist=[name]), name)
    return inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), "") == "reader"


def test_python_asks_every_question_that_a_command_or_http_asks() -> None:
    places = [*(ROOT / "cli/headwater_cli/queries").glob("*.py"), ROOT / "web/headwater_web/graph_api.py"]
    asked = {name for file in places for name in imported(file)}
    python = {name for file in (ROOT / "graph/headwater_graph/queries/asking").glob("*.py") for name in imported(file)}
    assert {"lineage", "run_diff"} <= asked
    assert asked - python - HELPERS == set(), "describe it in queries/asking/graph.py"


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.name)
def test_a_question_is_described_in_full(asked: Question) -> None:
    assert asked.help.endswith(".")
    assert getattr(Graph, asked.name) is asked.function
    assert all(parameter.given.help.endswith(".") for parameter in asked.parameters)


def test_public_methods_of_the_graph_are_questions() -> None:
    methods = {name for name, _ in inspect.getmembers(Graph, inspect.isfunction) if not name.startswith("_")}
    assert methods - {"ask", "close"} == {asked.name for asked in QUESTIONS}


def test_a_parameter_without_a_description_is_an_error() -> None:
    class Wrong:
        @question(commands=("x",), paths=("/x",))
        def asked(self, name: str) -> None:
            """Ask."""

    with pytest.raises(TypeError, match="the type of name has no description"):
        questions_of(Wrong)
    assert Places(("x",), ("/x",)).commands == ("x",)
    assert Given("text", "A text.").alias is None
