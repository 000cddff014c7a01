"""The modules of the graph view that need no browser, tested by Node's own test runner."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("module", ["layout", "graph_model", "graph_parts"])
def test_modules_of_the_graph(module: str) -> None:
    assert NODE is not None
    done = subprocess.run([NODE, "--test", f"{HERE / module}.test.mjs"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
