"""The ``headwater graph`` commands in docs/operate.md exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from headwater_cli.operations.graph import graph

PAGE = Path(__file__).parents[2] / "docs" / "operate.md"
LINES = re.findall(r"^headwater graph ([^#\n]+)", PAGE.read_text(), re.MULTILINE)


def test_the_page_shows_retention_and_migration() -> None:
    assert {line.split()[0] for line in LINES} >= {"retain", "migrate"}


@pytest.mark.parametrize("line", LINES)
def test_a_shown_command_exists(line: str) -> None:
    name, *arguments = shlex.split(line)
    with click.Context(graph) as context:
        command = graph.get_command(context, name)
        assert command is not None
        with command.make_context(name, arguments, parent=context) as parsed:
            assert not parsed.args
