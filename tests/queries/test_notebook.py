"""The document on notebooks, executed as a notebook by a real kernel against a real Neo4j."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from headwater_graph.settings import GraphSettings

from .graph_maker import GraphMaker

DOCUMENT = Path(__file__).parents[2] / "docs" / "notebooks.md"
PATIENCE = 300
"""Seconds that a kernel and a cell have on a busy machine."""


@pytest.fixture
def run_cells(graph_server: GraphSettings, stored: GraphMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("HEADWATER_NEO4J_URI", str(graph_server.uri))
    monkeypatch.setenv("HEADWATER_NEO4J_USER", graph_server.user)
    monkeypatch.setenv("HEADWATER_NEO4J_PASSWORD", graph_server.password.get_secret_value())
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")

    def run(cells: list[str]) -> list[list[Any]]:
        texts = [cell.replace("warehouse", stored.namespace) for cell in cells]
        cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
        shape = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}}
        book = nbformat.from_dict(shape | {"cells": [cell | {"source": text} for text in texts]})  # type: ignore[no-untyped-call]
        NotebookClient(book, timeout=PATIENCE, startup_timeout=PATIENCE, kernel_name="python3").execute()
        return [cell["outputs"] for cell in book["cells"]]

    return run


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_document_runs_as_a_notebook_and_shows_pictures(run_cells: Any, stored: GraphMaker) -> None:
    pytest.importorskip("quickjs", reason="needs quickjs: pip install 'headwater[picture]'")
    blocks = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    first, questions, runs, conversions = run_cells(blocks)
    shown = first[-1]["data"]
    assert '<img alt="upstream of' in shown["text/html"]
    assert "data:image/svg+xml;base64," in shown["text/html"]
    assert shown["text/plain"].startswith(f"dataset {stored.namespace} orders\n")
    assert questions[-1]["data"]["text/html"].startswith("<table>")
    assert "state: COMPLETE to FAIL" in runs[-1]["data"]["text/plain"]
    printed = "".join(output.get("text", "") for output in conversions)
    assert "report" in printed
    assert "flowchart LR" in printed
