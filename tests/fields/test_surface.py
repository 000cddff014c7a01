"""What the package offers, and that its rules stay pure."""

from __future__ import annotations

import ast
from inspect import ismodule
from pathlib import Path

import pytest

import headwater.fields as package

FOLDER = Path(package.__file__).parent
SHELLS = {"__init__", "facets", "emit", "recorder"}
PURE = sorted(
    path.stem for path in FOLDER.glob("*.py") if path.stem not in SHELLS and not path.stem.startswith("trace")
)
FORBIDDEN = {"pyspark", "neo4j", "confluent_kafka", "time", "os", "socket", "random", "openlineage", "attr"}


def test_the_surface_is_what_is_listed() -> None:
    offered = {name for name, value in vars(package).items() if not name.startswith("_") and not ismodule(value)}
    assert set(package.__all__) == offered


@pytest.mark.parametrize("module", PURE)
def test_rules_import_nothing_of_the_world(module: str) -> None:
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert not imported & FORBIDDEN
    relative = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1}
    assert not relative & SHELLS
