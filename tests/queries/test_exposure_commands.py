"""``headwater report exposure`` and its address over HTTP, against a real Neo4j."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import neo4j
import pytest

from headwater_graph.queries.reader import Neo4jReader
from headwater_web import MemorySink, WebSettings, create_app

from ..web.raw import client_of
from .graph_maker import GraphMaker
from .test_commands import Headwater, headwater
from .test_exposure import json_text, tags_facet

__all__ = ["headwater"]


@pytest.fixture
def chain(driver: neo4j.Driver, maker: GraphMaker) -> GraphMaker:
    """A column with a tag of its own name, from which two more are derived; the way to the last one masks it."""
    maker.dataset("a", facets=json_text({"tags": tags_facet((maker.namespace, "x"))}))
    maker.column("j", ("a", "x"), ("b", "x"), type="DIRECT")
    maker.column("j", ("b", "x"), ("c", "x"), type="DIRECT", masking=True)
    maker.store(driver)
    return maker


def test_the_report_as_a_table_as_json_and_as_csv(headwater: Headwater, chain: GraphMaker) -> None:
    ns = chain.namespace
    report = ("report", "exposure", "--tag", ns)
    table = headwater(*report)
    assert table.code == 0
    assert f"{ns}#a.x -> {ns}#b.x" in table.out
    (found,) = json.loads(headwater(*report, "--json").out)
    assert [(row["dataset"], row["distance"]) for row in found["rows"]] == [("b", 1)]
    (line,) = csv.DictReader(io.StringIO(headwater(*report, "--format", "csv").out))
    assert (line["report"], line["dataset"], line["tag"]) == ("exposure", "b", ns)


def test_a_tag_that_masking_does_not_end_is_an_option_and_a_setting(
    headwater: Headwater, chain: GraphMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = ("report", "exposure", "--tag", chain.namespace, "--json")

    def datasets(*more: str) -> list[str]:
        return [row["dataset"] for row in json.loads(headwater(*report, *more).out)[0]["rows"]]

    assert datasets() == ["b"]
    assert datasets("--through-masking", chain.namespace) == ["b", "c"]
    monkeypatch.setenv("HEADWATER_THROUGH_MASKING", f"other {chain.namespace}")
    assert datasets() == ["b", "c"]


def test_a_check_fails_on_findings_that_are_new(headwater: Headwater, chain: GraphMaker, tmp_path: Path) -> None:
    report = ("report", "exposure", "--tag", chain.namespace)
    known = tmp_path / "known.json"
    known.write_text(headwater(*report, "--json").out)
    assert headwater(*report, "--fail-on-new").code == 1
    assert headwater(*report, "--fail-on-new", "--known", str(known)).code == 0
    more = (*report, "--through-masking", chain.namespace, "--known", str(known), "--json")
    done = headwater(*more, "--fail-on-new")
    assert (done.code, [row["dataset"] for row in json.loads(done.out)[0]["rows"]]) == (1, ["c"])
    known.write_text("{}")
    assert headwater(*report, "--known", str(known)).code == 2


def test_its_options_belong_to_this_report(headwater: Headwater) -> None:
    done = headwater("report", "silent", "--tag", "pii")
    assert (done.code, "exposure" in done.err) == (2, True)


def test_the_report_over_http(reader: Neo4jReader, chain: GraphMaker) -> None:
    address, ns = "/api/v1/graph/reports/exposure", chain.namespace
    with client_of(create_app(reader, MemorySink(), WebSettings())) as client:
        assert "exposure" in client.get("/api/v1/graph/reports").json()["reports"]
        found = client.get(address, params={"tag": ns}).json()
        assert [(row["dataset"], row["through"]) for row in found["rows"]] == [("b", "DIRECT")]
        first = client.get(address, params={"tag": ns, "through_masking": ns, "limit": 1}).json()
        second = client.get(
            address, params={"tag": ns, "through_masking": ns, "limit": 1, "cursor": first["next"]}
        ).json()
        assert [row["dataset"] for page in (first, second) for row in page["rows"]] == ["b", "c"]
        assert "next" not in second
        assert client.get(address, params={"tags": ns}).status_code == 422
