"""What the package offers, and that its rules stay pure."""

from __future__ import annotations

import ast
from inspect import ismodule
from pathlib import Path

import pytest

import headwater.fields as package

FOLDER = Path(package.__file__).parent
SHELLS = {"emit", "trace"}
PURE = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.rglob("*.py")
    if path != FOLDER / "__init__.py" and path.relative_to(FOLDER).parts[0] not in SHELLS
)
FORBIDDEN = {"pyspark", "neo4j", "confluent_kafka", "time", "os", "socket", "random", "openlineage", "attr"}


def test_the_surface_is_what_is_listed() -> None:
    offered = {name for name, value in vars(package).items() if not name.startswith("_") and not ismodule(value)}
    assert set(package.__all__) == offered


def test_every_pure_module_is_checked() -> None:
    assert {"model/wired.py", "recording/program.py", "resolution/resolve.py", "shapes.py"} <= set(PURE)


@pytest.mark.parametrize("module", PURE)
def test_pure_modules_import_neither_libraries_nor_shells(module: str) -> None:
    nodes = list(ast.walk(ast.parse((FOLDER / module).read_text(encoding="utf-8"))))
    imports = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imports += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    assert not {name.split(".")[0] for name in imports} & FORBIDDEN
    relative = {
        part
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.level
        for part in (*(node.module or "").split("."), *(alias.name for alias in node.names))
    }
    assert not relative & SHELLS
