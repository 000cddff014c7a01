"""The report on exposed columns, compared with a plain breadth-first search over generated columns, in a real Neo4j."""

from __future__ import annotations

import json
import random
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

import neo4j
import pytest

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.reports.exposure import ExposureQuery, exposure
from headwater_graph.queries.reports.reports import Report

from .graph_maker import GraphMaker
from .test_size import Counting

ALL = 100_000
Column = tuple[str, str]


def tags_facet(*tags: tuple[str, str | None]) -> dict[str, object]:
    return {"tags": [{"key": key, "value": "true"} | ({"field": name} if name else {}) for key, name in tags]}


@dataclass
class Generated:
    """Columns with edges (source, target, whether direct, whether masking), and those that have a tag."""

    edges: list[tuple[Column, Column, bool, bool]] = field(default_factory=list)
    tagged: set[Column] = field(default_factory=set)

    def distances(self, indirect: bool, masked: bool) -> dict[Column, int]:
        """The distance of every column that holds tagged data, by a breadth-first search."""
        found = dict.fromkeys(self.tagged, 0)
        waiting = deque(sorted(self.tagged))
        while waiting:
            at = waiting.popleft()
            for source, target, direct, masking in self.edges:
                follows = source == at and (direct or indirect) and (not masking or masked)
                if follows and target not in found:
                    found[target] = found[at] + 1
                    waiting.append(target)
        return {column: distance for column, distance in found.items() if column not in self.tagged}


def generated(maker: GraphMaker, seed: int) -> Generated:
    """Datasets with four columns each; edges go anywhere, so that there are cycles."""
    chance = random.Random(seed)
    columns = [(f"d{dataset:02}", f"c{column}") for dataset in range(15) for column in range(4)]
    made = Generated()
    for number in range(70):
        source, target = chance.sample(columns, 2)
        direct, masking = chance.random() < 0.7, chance.random() < 0.15
        made.edges.append((source, target, direct, masking))
        kind = "DIRECT" if direct else "INDIRECT"
        maker.column(f"job{number}", source, target, type=kind, masking=masking or None)
    linked = sorted({column for edge in made.edges for column in edge[:2]})
    made.tagged = set(chance.sample(linked, 3))
    whole = chance.choice(columns)[0]
    made.tagged |= {column for column in linked if column[0] == whole}
    for name in {dataset for dataset, _ in made.tagged}:
        tags = [("pii", None)] if name == whole else [("pii", column) for each, column in made.tagged if each == name]
        maker.dataset(name, facets=json_text({"tags": tags_facet(*tags)}))
    return made


def json_text(value: object) -> str:
    return json.dumps(value)


def of(maker: GraphMaker, found: Report) -> dict[Column, dict[str, str | int]]:
    rows = [dict(zip(found.head, row, strict=True)) for row in found.rows]
    return {(str(row["dataset"]), str(row["column"])): row for row in rows if row["namespace"] == maker.namespace}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("indirect", "masked"), [(False, False), (True, False), (False, True), (True, True)])
def test_the_exposed_columns_are_those_of_a_breadth_first_search(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker, seed: int, indirect: bool, masked: bool
) -> None:
    made = generated(maker, seed)
    maker.store(driver)
    query = ExposureQuery("pii", indirect, frozenset({"pii"} if masked else ()))
    report = exposure(reader, query, ALL)
    found = of(maker, report)
    assert not report.truncated
    direct, either = made.distances(False, masked), made.distances(indirect, masked)
    assert found.keys() == either.keys()
    for column, row in found.items():
        assert row["through"] == ("DIRECT" if column in direct else "INDIRECT")
        assert row["distance"] == (direct if column in direct else either)[column]
        way = [tuple(step.split("#")[1].split(".")) for step in str(row["way"]).split(" -> ")]
        assert (way[0] in made.tagged, way[-1], len(way) - 1) == (True, column, row["distance"])
        followed = {
            edge[:2] for edge in made.edges if (edge[2] or row["through"] == "INDIRECT") and (not edge[3] or masked)
        }
        assert all(step in followed for step in pairwise(way))
    distances = [row[4] for row in report.rows]
    assert distances == sorted(distances)


@pytest.fixture
def shop(driver: neo4j.Driver, maker: GraphMaker) -> GraphMaker:
    """Data of ``raw.mail`` in ``clean`` under another name, from there in ``report``, which finance owns and two jobs read."""
    owners = {"owners": [{"name": "finance"}]}
    tags = tags_facet(("pii", "mail"), ("team:x", None), ("old", "mail"))
    tags["tags"][2]["value"] = "false"  # type: ignore[index]
    maker.dataset("raw", facets=json_text({"tags": tags}))
    maker.dataset("report", facets=json_text({"ownership": owners}))
    maker.column("load", ("raw", "mail"), ("clean", "contact"), type="DIRECT", subtype="IDENTITY")
    maker.alias("clean", "clean_link")
    maker.column("report", ("clean_link", "contact"), ("report", "who"), type="DIRECT")
    maker.column("report", ("raw", "mail"), ("report", "*"), type="INDIRECT", subtype="FILTER")
    for job in ("a", "b"):
        maker.run(job, ["report"], [])
    maker.store(driver)
    return maker


def test_a_finding_has_a_way_through_aliases_owners_and_readers(reader: Neo4jReader, shop: GraphMaker) -> None:
    ns, found = shop.namespace, of(shop, exposure(reader, ExposureQuery("pii"), ALL))
    assert set(found) == {("clean", "contact"), ("clean_link", "contact"), ("report", "who")}
    who = found[("report", "who")]
    assert (who["distance"], who["owners"], who["readers"]) == (2, "finance", f"{ns} a, {ns} b")
    steps = ("raw.mail", "clean.contact", "clean_link.contact", "report.who")
    assert who["way"] == " -> ".join(f"{ns}#{step}" for step in steps)


def test_an_indirect_edge_to_all_columns_is_told_apart(reader: Neo4jReader, shop: GraphMaker) -> None:
    found = of(shop, exposure(reader, ExposureQuery("pii", indirect=True), ALL))
    assert found[("report", "*")]["through"] == "INDIRECT"
    assert found[("report", "who")]["through"] == "DIRECT"


def test_without_a_tag_every_tag_is_followed_and_a_tag_that_is_false_is_none(
    reader: Neo4jReader, shop: GraphMaker
) -> None:
    report = exposure(reader, ExposureQuery(), ALL)
    rows = [row for row in report.rows if row[0] == shop.namespace]
    assert {(row[2], row[3]) for row in rows} == {
        (name, tag) for name in ("contact", "who") for tag in ("pii", "team:x")
    }
    assert not exposure(reader, ExposureQuery("old"), ALL).rows


def test_a_column_that_is_tagged_under_an_alias_is_not_exposed(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.dataset("raw", facets=json_text({"tags": tags_facet(("pii", None))}))
    maker.dataset("alias", facets=json_text({"tags": tags_facet(("pii", "known"))}))
    maker.column("load", ("raw", "mail"), ("clean", "known"), type="DIRECT")
    maker.column("load", ("raw", "mail"), ("clean", "new"), type="DIRECT")
    maker.alias("clean", "alias")
    maker.store(driver)
    assert set(of(maker, exposure(reader, ExposureQuery("pii"), ALL))) == {("clean", "new")}


def test_pages_of_findings(reader: Neo4jReader, shop: GraphMaker) -> None:
    everything = exposure(reader, ExposureQuery("pii"), ALL).rows
    first, second = exposure(reader, ExposureQuery("pii"), 1), exposure(reader, ExposureQuery("pii"), 1, 1)
    assert (first.rows + second.rows, first.truncated) == (everything[:2], True)


def test_a_level_is_one_statement_however_wide_it_is(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    levels, wide = 6, 200
    maker.dataset("d0", facets=json_text({"tags": tags_facet((maker.namespace, None))}))
    for level in range(levels):
        for number in range(wide):
            maker.column(f"j{level}", (f"d{level}", f"c{number}"), (f"d{level + 1}", f"c{number}"), type="DIRECT")
    maker.store(driver)
    counting = Counting(reader)
    report = exposure(counting, ExposureQuery(maker.namespace), ALL)
    assert len(report.rows) == levels * wide
    # A level is read once, and so are the aliases of its datasets.
    assert counting.questions <= 2 * (levels + 1) + 6
