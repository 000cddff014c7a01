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
QUESTIONS = sorted(
    path.name.removesuffix(".cypher") for path in (files("headwater_graph.queries") / "cypher").iterdir()
)
HEAD = re.compile(r"\A(?:// .+\n)+?// parameters: ((?:[a-zA-Z]+(?:, )?)+)\n")


def named_parameters(text: str) -> set[str]:
    return set(re.findall(r"\$([a-zA-Z]+)", text))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_names_its_parameters_in_its_head(question: str) -> None:
    text = question_text(question)
    head = HEAD.match(text)
    assert head is not None
    told = set() if head[1] == "none" else set(head[1].split(", "))
    assert told == named_parameters(text)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_read_only_and_uses_an_index(question: str, driver: neo4j.Driver) -> None:
    text = question_text(question)
    with driver.session(default_access_mode="READ") as session:
        summary = session.run(f"EXPLAIN {text}", dict.fromkeys(named_parameters(text))).consume()
    assert summary.query_type == "r"
    operators = set(_operators(summary.plan))
    assert "AllNodesScan" not in operators
    assert "CartesianProduct" not in operators
    if question not in SCANS:
        assert "NodeByLabelScan" not in operators


SCANS = {
    "datasets_of_namespace",
    "jobs_of_namespace",
    "namespaces",
    "dataset_namespaces",
    "dataset_by_tail",
    "job_by_tail",
    "report_conflicts",
    "report_coverage",
    "report_no_outputs",
    "report_orphaned",
    "report_stale",
    "report_unknown",
    "report_unmade",
    "report_unread",
    "search_columns",
    "search_datasets",
    "search_jobs",
    "stats_namespaces",
}
"""Questions that look through all nodes of a label, which is what they are asked for."""


def _operators(plan: object) -> list[str]:
    assert isinstance(plan, dict)
    inner = [name for child in plan.get("children", []) for name in _operators(child)]
    return [str(plan["operatorType"]).split("@")[0], *inner]


@pytest.fixture(scope="module")
def told(driver: neo4j.Driver) -> dict[str, str]:
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
def test_a_recipe_finds_something(recipe: Recipe, told: dict[str, str], reader: Neo4jReader) -> None:
    assert set(recipe.parameters) == named_parameters(recipe.text)
    others = {
        "versions of a job": ("name", "job"),
        "made from a dataset": ("name", "dataset"),
        "under a run": ("run", "dag"),
    }
    replaced = {name: told[other] for part, (name, other) in others.items() if part in recipe.title}
    assert reader.run(recipe.text, {name: told[name] for name in recipe.parameters} | replaced)


NODE = re.compile(r"\(:(\w+) \{([\w, ]+)\}\)")
EDGE = re.compile(r"\[:(\w+)(?: \{([\w, ]+)\})?\]")


def test_the_model_and_the_manual_name_the_same_properties() -> None:
    manual = (ROOT / "docs" / "cypher.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", manual, re.MULTILINE))
    told = {label: set(re.findall(r"`(\w+)`", cell)) for label, cell in rows.items()}
    assert {label: set(names.split(", ")) for label, names in NODE.findall(model())} == told


def test_the_model_names_every_relationship_that_is_there(told: dict[str, str], reader: Neo4jReader) -> None:
    named = {kind for kind, _ in EDGE.findall(model())}
    assert told
    assert {row["relationshipType"] for row in reader.run("CALL db.relationshipTypes()", {})} <= named


def test_there_are_at_least_twenty_recipes_and_the_manual_shows_each() -> None:
    manual = (ROOT / "docs" / "cypher.md").read_text(encoding="utf-8")
    assert len(recipes()) >= 20
    assert [recipe.title for recipe in recipes() if f"```cypher\n{recipe.shown()}\n```" not in manual] == []
