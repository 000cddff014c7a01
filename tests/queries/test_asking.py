"""The reading API of Python against a real Neo4j: typed answers, what they convert to, and how the graph is found."""

from __future__ import annotations

import base64
import builtins
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints
from xml.etree import ElementTree as ET

import neo4j
import pytest

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_graph import connect
from headwater_graph.queries.answers import Answer, Edge, Node
from headwater_graph.queries.asking import QUESTIONS, Details, Graph, Lineage, Listing
from headwater_graph.queries.asking.conversions import DRAWN_NODES, SHOWN_ROWS, html_table
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.settings import GraphSettings, located_settings

from ..servers import Servers
from .graph_maker import GraphMaker
from .test_local_stack import stack_home

__all__ = ["stack_home"]

CHAIN = Answer(
    {"direction": "upstream", "start": ["ns", "report"], "kind": "dataset", "depth": 10},
    ("report",),
    (
        Node("report", "dataset", ("ns", "report"), 0),
        Node("orders", "dataset", ("ns", "<orders>"), 1, ("dropped",), {"owners": ["a", "b"]}),
        Node("join", "job", ("etl", "join"), 1),
    ),
    (Edge("orders", "join", "feeds"), Edge("join", "report", "produces", {"version": "v1"})),
)


@pytest.fixture
def graph(graph_server: GraphSettings, driver: neo4j.Driver) -> Iterator[Graph]:
    with connect(graph_server.uri, user=graph_server.user, password=graph_server.password) as graph:
        yield graph


def names(answer: Lineage) -> list[str]:
    return [node.name[-1] for node in answer.nodes]


def test_upstream_answers_nodes_and_edges(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    answer = graph.upstream(f"{ns}#table")
    assert names(answer) == ["table", "orders", "rates", "report", "raw", "load"]
    assert {(edge.kind, edge.former) for edge in answer.edges} == {("feeds", False), ("produces", False)}
    assert answer.is_complete
    assert graph.upstream((ns, "table")).value() == answer.value()
    assert names(graph.downstream((ns, "raw"), depth=1)) == ["raw", "orders", "load"]
    assert not graph.downstream((ns, "raw"), depth=1).is_complete
    assert names(graph.upstream((ns, "table"), as_of="2026-01-01T02:30:00Z")) == [
        "table",
        "orders",
        "report",
        "raw",
        "load",
    ]
    assert names(graph.component((ns, "rates"))) == names(graph.component((ns, "rates"), as_of=None))
    assert names(graph.path((ns, "raw"), (ns, "table"))) == ["raw", "load", "orders", "report", "table"]


def test_an_answer_converts(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    answer = graph.upstream((ns, "table"))
    frame = answer.to_pandas()
    assert frame[frame["kind"] == "job"]["name"].tolist() == ["report", "load"]
    edges = answer.to_pandas("edges")
    assert ("load", "orders", "produces") in list(zip(edges["from_name"], edges["to_name"], edges["edge"], strict=True))
    import networkx as nx

    made = answer.to_networkx()
    assert nx.ancestors(made, ("dataset", ns, "table")) == {
        ("dataset", ns, "orders"), ("dataset", ns, "rates"), ("dataset", ns, "raw"), ("job", ns, "load"), ("job", ns, "report")
    }  # fmt: skip
    assert made.nodes["job", ns, "report"]["facts"]["lastRunState"] == "FAIL"
    assert answer.mermaid().startswith("flowchart LR\n")
    assert repr(answer).splitlines()[0] == f"dataset {ns} table"


def test_columns_and_what_a_change_of_one_affects(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert names(graph.columns((ns, "orders"), "amount")) == ["amount", "a"]
    assert names(graph.columns(f"{ns}#orders#amount")) == ["amount", "a"]
    assert names(graph.columns((ns, "raw"), direction="downstream")) == ["a", "amount"]
    affected = graph.impact((ns, "raw"), ["a"])
    assert names(affected) == ["amount", "orders", "load"]
    assert affected.edges == ()
    assert affected.to_pandas()["kind"].tolist() == ["column", "dataset", "job"]
    assert "mount" in affected.text()
    with pytest.raises(ConfigError, match="leave out as_of"):
        graph.impact((ns, "raw"), ["a"], as_of="2d")


def test_runs_versions_and_differences(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    runs = graph.runs(job=(ns, "report"))
    assert [run.state for run in runs] == ["FAIL", "COMPLETE"]
    assert runs.to_pandas()["state"].tolist() == ["FAIL", "COMPLETE"]
    assert (len(graph.runs(job=(ns, "report"), limit=1)), graph.runs(job=(ns, "report"), limit=1).more) == (1, True)
    failed = runs.items[0].id
    assert graph.run(failed).details.error == "boom"
    assert graph.run(failed).value()["state"] == "FAIL"
    difference = graph.run_diff(failed)
    assert ("state", "COMPLETE", "FAIL") in difference.details.facts
    assert f"inputs changed: + {ns} rates" in graph.job_diff((ns, "report")).text()
    assert [line.value()["number"] for line in graph.versions((ns, "report"), kind="job").items] == [2, 1]
    assert graph.versions((ns, "table")).to_pandas()["job"].tolist() == [f"{ns} report"] * 2
    assert names(graph.run_graph(failed))[0] == failed
    with pytest.raises(ConfigError, match="leave out state"):
        graph.runs(silent=True, state="FAIL")


def test_search_details_reports_and_cypher(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert len(graph.find(f"{ns}-run", kinds=["run"], limit=2)) == 2
    assert graph.find(f"{ns}-run", kinds=["run"], limit=2).more
    assert (ns, "rates") in [node.name for node in graph.find("rates", kinds="dataset", limit=1_000)]
    assert graph.show((ns, "orders")).details.downstream[0].name == (ns, "report")
    assert graph.show((ns, "report"), kind="job").to_pandas()["name"].tolist() == ["orders", "rates", "table"]
    rows = graph.report("unmade", limit=10_000).to_pandas()
    assert (ns, "raw") in list(zip(rows["namespace"], rows["dataset"], strict=True))
    assert graph.overview().details.counts["runs"] >= 3
    found = graph.cypher("MATCH (j:Job {namespace: $ns}) RETURN j.name AS job ORDER BY job", {"ns": ns})
    assert found.to_pandas()["job"].tolist() == ["load", "report"]
    with pytest.raises(ConfigError, match="this would write"):
        graph.cypher("CREATE (:Job)")
    with pytest.raises(NotFound):
        graph.upstream((ns, "nothing"))
    with pytest.raises(ConfigError, match="no report 'x'"):
        graph.report("x")
    with pytest.raises(ConfigError, match="depth is at least 0"):
        graph.upstream((ns, "orders"), depth=-1)


def test_every_question_answers_with_its_type(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    run = graph.runs(job=(ns, "report")).items[0].id
    given: dict[str, dict[str, Any]] = {
        "find": {"text": "orders"},
        "path": {"source": (ns, "raw"), "target": (ns, "table")},
        "run": {"run": run},
        "run_graph": {"run": run},
        "run_diff": {"run": run},
        "job_diff": {"name": (ns, "report")},
        "report": {"name": "silent"},
        "run_columns": {"version": graph.versions((ns, "orders")).items[0].id, "columns": "total"},
        "cypher": {"query": "RETURN 1 AS one"},
        "operations": {"name": (ns, "orders")},
    }
    for asked in QUESTIONS:
        needs_name = bool(asked.parameters) and asked.parameters[0].is_required
        arguments = given.get(asked.name, {"name": (ns, "orders")} if needs_name else {})
        if asked.name == "operations":
            with pytest.raises(NotFound, match="reports operations"):
                graph.ask(asked.name, **arguments)
            continue
        answer = graph.ask(asked.name, **arguments)
        assert isinstance(answer, Lineage | Listing | Details)
        assert answer.__class__.__name__ in str(get_type_hints(asked.function)["return"])
        assert repr(answer)
        assert answer._repr_html_()
        assert answer.to_pandas() is not None
    with pytest.raises(ConfigError, match="no question 'close'"):
        graph.ask("close")


def test_a_notebook_shows_an_answer_as_a_picture_in_one_image() -> None:
    pytest.importorskip("quickjs", reason="needs quickjs: pip install 'headwater[picture]'")
    html = Lineage(CHAIN)._repr_html_()
    assert "<script" not in html
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    assert data is not None
    picture = ET.fromstring(base64.b64decode(data[1]))
    shown = {element.text for element in picture.iter() if element.get("font-weight")}
    assert shown == {"report", "<orders>", "join"}
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", base64.b64decode(data[1]).decode())


def test_without_the_extra_picture_an_answer_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "headwater_graph.queries.asking.conversions.find_spec",
        lambda name: None if name == "quickjs" else find_spec(name),
    )
    html = Lineage(CHAIN)._repr_html_()
    assert html.startswith("<table>")
    assert "<td>&lt;orders&gt;</td>" in html
    assert "<td>a, b</td>" in html


def test_an_answer_that_is_too_large_to_draw_is_a_table() -> None:
    nodes = tuple(Node(f"d{n}", "dataset", ("ns", f"d{n}"), n) for n in range(DRAWN_NODES + 1))
    html = Lineage(Answer({"direction": "upstream"}, ("d0",), nodes, ()))._repr_html_()
    assert html.startswith("<table>")
    assert f"{DRAWN_NODES + 1 - SHOWN_ROWS} more rows" in html


def test_a_table_of_records_with_other_members_has_all_of_them() -> None:
    assert html_table("t", [{"a": 1}, {"b": None}]).count("<th>") == 2


@pytest.mark.parametrize(("package", "method"), [("pandas", "to_pandas"), ("networkx", "to_networkx")])
def test_a_missing_package_is_an_error_that_names_the_extra(
    package: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("headwater_graph.queries.asking.conversions.import_module", lambda name: without(name))
    with pytest.raises(ConfigError, match=re.escape(f"this needs {package}: pip install 'headwater[notebook]'")):
        getattr(Lineage(CHAIN), method)()


def test_times_of_python_have_a_zone(graph: Graph, stored: GraphMaker) -> None:
    ns = stored.namespace
    at = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
    assert names(graph.upstream((ns, "table"), as_of=at)) == names(
        graph.upstream((ns, "table"), as_of=at.replace(tzinfo=None))
    )
    with pytest.raises(ConfigError, match="is not a time"):
        graph.upstream((ns, "table"), as_of="yesterday")


SOURCES: dict[str, dict[str, str]] = {
    "environment": {"HEADWATER_NEO4J_URI": "bolt://a:1", "HEADWATER_NEO4J_USER": "u", "HEADWATER_NEO4J_PASSWORD": "p"},
    "file": {"HEADWATER_CONFIG": "given.toml"},
    "file and environment": {"HEADWATER_CONFIG": "given.toml", "HEADWATER_NEO4J_DATABASE": "other"},
    "stack": {},
    "stack and environment": {"HEADWATER_NEO4J_DATABASE": "other", "HEADWATER_NEO4J_READ_TIMEOUT": "7"},
    "stack and account": {"HEADWATER_NEO4J_USER": "other", "HEADWATER_NEO4J_PASSWORD": "another"},
    "folder": {},
}


@pytest.mark.parametrize("source", SOURCES)
def test_python_finds_the_graph_that_the_command_line_finds(
    source: str, stack_home: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from headwater_cli.querying import graph_location

    folder = tmp_path / "work"
    folder.mkdir()
    table = '[neo4j]\nuri = "bolt://b:2"\nuser = "w"\n[kafka]\ntopic = "t"\n'
    (folder / "given.toml").write_text(table)
    if source == "folder":
        (folder / "headwater.toml").write_text(table)
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.startswith("HEADWATER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWATER_HOME", str(stack_home))
    for name, value in SOURCES[source].items():
        monkeypatch.setenv(name, value)
    assert located_settings() == graph_location()
    if source.startswith("stack"):
        assert located_settings().uri == servers.neo4j_uri.replace("localhost", "127.0.0.1")


def test_without_an_address_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADWATER_NEO4J_URI", raising=False)
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path))
    with pytest.raises(ServerUnavailable, match="headwater up"):
        connect()
    monkeypatch.setenv("HEADWATER_CONFIG", str(tmp_path / "absent.toml"))
    with pytest.raises(ConfigError, match="can't be read"):
        connect()
    (tmp_path / "absent.toml").write_text("=")
    with pytest.raises(ConfigError, match="is not TOML"):
        connect()


def test_importing_the_package_imports_no_driver() -> None:
    code = "import sys, headwater_graph; assert not {'neo4j', 'pandas', 'networkx', 'pydantic'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
