"""docs/fields.md: its code runs unchanged, block after block, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest

from headwater.transport import default as default_module
from headwater_cli.main import headwater

from ..lineage.conftest import RecordingTransport

PAGE = (Path(__file__).parents[2] / "docs" / "fields.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_and_sends_the_lineage_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transport = RecordingTransport()
    monkeypatch.setattr(default_module, "_shared", transport)
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": [1], "total": [2]}).to_parquet("orders.parquet")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "docs"}
    for block in blocks:
        exec(compile(block, "docs/fields.md", "exec"), names)
    assert len(blocks) == 4
    assert [operation.name for operation in names["resolved"].operations] == ["read Users", "Concat", "write Profiles"]
    (profiles, report) = [event for event in transport.events if event.get("eventType") == "COMPLETE"]
    assert set(profiles["outputs"][0]["facets"]["columnLineage"]["fields"]) == {"Name", "UID", "Zip"}
    assert set(report["outputs"][0]["facets"]["columnLineage"]["fields"]) == {"id", "total"}
    (inherited,) = names["inherited"].values()
    assert (list(inherited.tags), list(inherited.properties["level"])) == (["pii"], ["secret"])


def test_the_commands_of_the_page_exist() -> None:
    shown = re.findall(r"^headwater ([a-z]+) ([a-z]+) .*?(--[a-z]+)", PAGE, re.MULTILINE)
    assert shown == [("lineage", "upstream", "--operations")]
    for group, name, flag in shown:
        found = headwater.get_command(click.Context(headwater), group)
        assert isinstance(found, click.Group)
        command = found.commands[name]
        assert any(flag in option.opts for option in command.params)
