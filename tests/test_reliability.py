"""The page on reliability names tests that exist, and the results of schedules as they are recorded."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", PAGE)


@pytest.mark.parametrize(("file", "test"), NAMED, ids=[test for _, test in NAMED])
def test_each_named_test_exists(file: str, test: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_fault_of_the_table_has_a_test() -> None:
    table = PAGE.partition("## Faults and tests")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(NAMED) >= 20


def test_no_recorded_schedule_has_failed_for_good() -> None:
    lines = (ROOT / "bench" / "results" / "chaos.jsonl").read_text(encoding="utf-8").splitlines()
    last = {result["seed"]: result for result in map(json.loads, lines)}
    assert [seed for seed, result in last.items() if not result["passed"]] == []
    failures = sum(not json.loads(line)["passed"] for line in lines)
    stated = {1: "One schedule has failed so far"}.get(failures)
    assert stated is not None
    assert stated in PAGE
