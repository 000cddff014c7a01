"""Each Cypher file of this part: its parameters are those it names, it compiles, and each recipe finds something."""

from __future__ import annotations

import re
import uuid
from importlib.resources import files
from pathlib import Path

import neo4j
import pytest

from headwater_graph.queries.free_cypher.recipes import Recipe, model, recipes
from headwater_graph.queries.reader import Neo4jReader, question_text

from .graph_maker import GraphMaker

ROOT = Path(__file__).parents[2]
CYPHER = Path(str(files("headwater_graph.queries") / "cypher"))
NAMES = sorted(path.relative_to(CYPHER).with_suffix("").as_posix() for path in CYPHER.rglob("*.cypher"))
DIRECTED = {name for name in NAMES if "// Upstream every arrow of data is reversed (reader.py)." in question_text(name)}
QUESTIONS = [(name, "downstream") for name in NAMES] + [(name, "upstream") for name in sorted(DIRECTED)]
"""Every question, and its upstream form if it depends on the direction."""
HEAD = re.compile(r"\A(?:// .+\n)+?// parameters: ((?:[a-zA-Z]+(?:, )?)+)\n")


def named_parameters(text: str) -> set[str]:
    return set(re.findall(r"\$([a-zA-Z]+)", text))


@pytest.mark.parametrize("question", NAMES)
def test_a_question_names_its_parameters_in_its_head(question: str) -> None:
    text = question_text(question)
    head = HEAD.match(text)
    assert head is not None
    parameters = set() if head[1] == "none" else set(head[1].split(", "))
    assert parameters == named_parameters(text)


def test_eleven_questions_depend_on_the_direction() -> None:
    assert len(DIRECTED) == 11
    assert all(question_text(name) != question_text(name, "upstream") for name in DIRECTED)


def test_upstream_follows_the_edges_of_data_against_their_direction() -> None:
    level = question_text("lineage/level", "upstream")
    assert "MATCH (d)<-[e:PRODUCES]-(j:Job)" in level
    assert "MATCH (j)<-[e:FEEDS]-(d:Dataset)" in level
    runs = question_text("runs/level", "upstream")
    assert "MATCH (r)<-[:READ_BY]-(v:DatasetVersion)" in runs
    assert "OPTIONAL MATCH (v)<-[:WROTE]-(w:Run)" in runs
    assert "EXISTS { (v)<-[:WROTE]-() } OR v.at IS NOT NULL AS made" in runs
    at = question_text("lineage/jobs_of_datasets_at", "upstream")
    assert "MATCH (d)<-[:HAS_OUTPUT]-(v:JobVersion)<-[:HAS_VERSION]-(j:Job)" in at
    assert "-[:FEEDS|PRODUCES*0..3]->" in question_text("lineage/subgraph", "downstream", 3)
    assert "<-[:PRODUCES|FEEDS*0..3]-" in question_text("lineage/subgraph", "upstream", 3)


@pytest.mark.parametrize(("question", "direction"), QUESTIONS)
def test_a_question_is_read_only_and_uses_an_index(question: str, direction: str, driver: neo4j.Driver) -> None:
    text = question_text(question, direction)
    with driver.session(default_access_mode="READ") as session:
        summary = session.run(f"EXPLAIN {text}", dict.fromkeys(named_parameters(text))).consume()
    assert summary.query_type == "r"
    operators = set(_operators(summary.plan))
    assert "AllNodesScan" not in operators
    assert "CartesianProduct" not in operators
    if question not in SCANS:
        assert "NodeByLabelScan" not in operators


SCANS = {
    "catalog/datasets",
    "catalog/jobs",
    "catalog/jobs_in_states",
    "catalog/tagged_facets",
    "catalog/namespaces",
    "catalog/dataset_namespaces",
    "find/dataset_by_tail",
    "find/job_by_tail",
    "reports/conflicts",
    "reports/coverage",
    "reports/no_outputs",
    "reports/orphaned",
    "reports/stale",
    "reports/tagged_datasets",
    "reports/unknown",
    "reports/unmade",
    "reports/unread",
    "find/columns",
    "find/datasets",
    "find/datasets_by_parts",
    "find/jobs",
    "find/jobs_by_parts",
    "stats/namespaces",
}
"""Questions that look through all nodes of a label, because they are about all of them."""


def _operators(plan: object) -> list[str]:
    assert isinstance(plan, dict)
    inner = [name for child in plan.get("children", []) for name in _operators(child)]
    return [str(plan["operatorType"]).split("@")[0], *inner]


@pytest.fixture(scope="module")
def parameters(driver: neo4j.Driver) -> dict[str, str]:
    """A graph in which every recipe finds something, and the parameters of all of them."""
    maker = GraphMaker(f"ns-{uuid.uuid4().hex[:12]}")
    maker.run("extract", ["raw"], ["orders"])
    dag = maker.run("dag")
    run_id = maker.run("report", ["orders"], ["table"], state="FAIL", error="boom", conflicts='[["a","b"]]')
    maker.child(run_id, dag)
    maker.run("copy", ["orders"], ["table"])
    maker.run("dash", ["table"], ["unread"])
    maker.run("blind", ["orders"], [], unknown=True)
    maker.open_run("report", f"{maker.namespace}-quiet", hour=1)
    maker.alias("table", "s3://table")
    maker.column("extract", ("raw", "a"), ("orders", "amount"), type="DIRECT")
    maker.column("report", ("orders", "amount"), ("table", "total"), type="DIRECT")
    maker.store(driver)
    return {
        "namespace": maker.namespace, "name": "table", "dataset": "orders", "column": "amount", "run": run_id,
        "time": "2026-01-01T23:00:00Z", "job": "report", "dag": dag,
    }  # fmt: skip


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title[:40])
def test_a_recipe_finds_something(recipe: Recipe, parameters: dict[str, str], reader: Neo4jReader) -> None:
    assert set(recipe.parameters) == named_parameters(recipe.text)
    others = {
        "versions of a job": ("name", "job"),
        "made from a dataset": ("name", "dataset"),
        "under a run": ("run", "dag"),
    }
    replaced = {name: parameters[other] for part, (name, other) in others.items() if part in recipe.title}
    assert reader.run(recipe.text, {name: parameters[name] for name in recipe.parameters} | replaced)


NODE = re.compile(r"\(:(\w+) \{([\w, ]+)\}\)")
EDGE = re.compile(r"\[:(\w+)(?: \{([\w, ]+)\})?\]")


def test_the_model_and_the_manual_name_the_same_properties() -> None:
    manual = (ROOT / "docs" / "cypher.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", manual, re.MULTILINE))
    documented = {label: set(re.findall(r"`(\w+)`", cell)) for label, cell in rows.items()}
    assert {label: set(names.split(", ")) for label, names in NODE.findall(model())} == documented


def test_the_model_names_every_relationship_that_is_there(parameters: dict[str, str], reader: Neo4jReader) -> None:
    named = {kind for kind, _ in EDGE.findall(model())}
    assert parameters
    assert {row["relationshipType"] for row in reader.run("CALL db.relationshipTypes()", {})} <= named


def test_there_are_at_least_twenty_recipes_and_the_manual_shows_each() -> None:
    manual = (ROOT / "docs" / "cypher.md").read_text(encoding="utf-8")
    assert len(recipes()) >= 20
    assert [recipe.title for recipe in recipes() if f"```cypher\n{recipe.shown()}\n```" not in manual] == []
