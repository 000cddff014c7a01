"""The commands on the graph that the page for operators shows are commands that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from headwater_cli.graph import graph

PAGE = Path(__file__).parents[2] / "docs" / "operate.md"
LINES = re.findall(r"^headwater graph ([^#\n]+)", PAGE.read_text(), re.MULTILINE)


def test_the_page_shows_retention_and_migration() -> None:
    assert {line.split()[0] for line in LINES} >= {"retain", "migrate"}


@pytest.mark.parametrize("line", LINES)
def test_a_command_is_one_that_there_is(line: str) -> None:
    name, *words = shlex.split(line)
    with click.Context(graph) as context:
        command = graph.get_command(context, name)
        assert command is not None
        with command.make_context(name, words, parent=context) as parsed:
            assert not parsed.args
