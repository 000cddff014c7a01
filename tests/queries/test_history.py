"""Versions of jobs and datasets, and the reasons for them, in a real Neo4j."""

from __future__ import annotations

import neo4j
import pytest

from headwater_avro.errors import ConfigError
from headwater_graph.queries.catalog.finding import NotFound, find
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.runs.history import (
    JobVersionLine,
    dataset_versions,
    job_version_reasons,
    job_versions,
    pick,
    schema_change,
)

from .graph_maker import GraphMaker


def test_each_version_of_a_job_has_its_reason(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    ns = maker.namespace
    maker.run("load", ["a", "b"], ["x"], code="1")
    second = maker.run("load", ["b", "c"], ["x"], code="1")
    maker.run("load", ["b", "c"], ["x", "y"], code="2")
    maker.run("load", ["b", "c"], ["x", "y"], code="2")
    maker.store(driver)
    versions = job_versions(reader, find(reader, (ns, "load"), ("job",)))
    assert [(v.number, v.reasons, v.runs) for v in versions] == [
        (3, (f"outputs changed: + {ns} y", "code version changed: 1 to 2"), 2),
        (2, (f"inputs changed: + {ns} c - {ns} a",), 1),
        (1, ("first version",), 1),
    ]
    assert (versions[1].made_by, versions[1].until) == (second, versions[0].since)
    assert versions[2].inputs == ((ns, "a"), (ns, "b"))
    newest = job_versions(reader, find(reader, (ns, "load"), ("job",)), limit=1)
    assert newest == versions[:1]


def line(number: int, **values: object) -> JobVersionLine:
    facts: dict[str, object] = {"until": None, "made_by": None, "code": None, "unknown": False, "runs": 1}
    facts |= {"inputs": (), "outputs": (), "last_run": None, **values}
    return JobVersionLine(id=f"a{number}", number=number, since="", **facts)  # type: ignore[arg-type]


def test_unknown_lineage_and_its_end_are_reasons() -> None:
    known, lost = line(1, code="1"), line(2, code="2", unknown=True)
    assert job_version_reasons(known, lost) == (
        "code version changed: 1 to 2",
        "lineage unknown: inputs and outputs of the version before",
    )
    assert job_version_reasons(lost, line(3, code="2")) == ("lineage known again",)
    assert job_version_reasons(known, line(2, code="1")) == ()


def test_a_version_is_found_by_number_or_by_the_beginning_of_its_id() -> None:
    versions = [line(1), line(2), line(12)]
    assert pick(versions, "2").id == "a2"
    assert pick(versions, "a2").number == 2
    with pytest.raises(ConfigError, match="several version ids begin"):
        pick(versions, "a1")
    with pytest.raises(NotFound):
        pick(versions, "3")


def test_versions_of_a_dataset_name_their_runs_and_readers(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    ns = maker.namespace
    first = maker.run("load", ["raw"], ["orders"], hour=1)
    maker.run("report", ["orders"], ["t"], hour=2)
    maker.run("mail", ["orders"], [], hour=3)
    second = maker.run("fix", ["raw"], ["orders"], hour=4, state="FAIL")
    for node in maker.nodes.values():
        if node.get("madeBy") == first and "dataset" in node:
            node["schema"] = '[["id","int"]]'
        if node.get("madeBy") == second and "dataset" in node:
            node["schema"] = '[["id","long"],["day"]]'
    maker.store(driver)
    versions = dataset_versions(reader, find(reader, (ns, "orders")))
    assert [(v.made_by, v.job, v.state, v.readers) for v in versions] == [
        (second, (ns, "fix"), "FAIL", 0),
        (first, (ns, "load"), "COMPLETE", 2),
    ]
    assert versions[0].reasons == ("schema changed: + day, id int to long",)
    assert versions[1].reasons == ()
    newest = dataset_versions(reader, find(reader, (ns, "orders")), limit=1)
    assert newest == versions[:1]


def test_an_unknown_schema_has_not_changed() -> None:
    assert schema_change(None, [["a"]]) == ""
    assert schema_change([["a"]], None) == ""
    assert schema_change([["a"]], [["a"]]) == ""
