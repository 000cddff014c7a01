"""The command line against a real Neo4j: what it prints, and its exit codes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple
from xml.etree import ElementTree as ET

import neo4j
import pytest
from confluent_kafka import Consumer

from headwater_cli.main import main
from headwater_consumer.kafka.brokers import kafka_client
from headwater_consumer.kafka.dead_letters import DeadLetter, KafkaDeadLetters
from headwater_consumer.kafka.messages import Message
from headwater_graph.queries.free_cypher.recipes import recipes

from ..servers import Servers
from .graph_maker import GraphMaker


class Done(NamedTuple):
    code: int
    out: str
    err: str


Headwater = Callable[..., Done]


@pytest.fixture
def headwater(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], servers: Servers, driver: neo4j.Driver
) -> Headwater:
    monkeypatch.setenv("HEADWATER_NEO4J_URI", servers.neo4j_uri)
    monkeypatch.setenv("HEADWATER_NEO4J_USER", servers.neo4j_user)
    monkeypatch.setenv("HEADWATER_NEO4J_PASSWORD", servers.neo4j_password)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["headwater", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return Done(int(end.value.code or 0), out, err)

    return run


@pytest.fixture
def stored(maker: GraphMaker, driver: neo4j.Driver) -> GraphMaker:
    maker.run("load", ["raw"], ["orders"], hour=1)
    maker.run("report", ["orders"], ["table"], hour=2, state="FAIL", error="boom")
    maker.column("load", ("raw", "a"), ("orders", "amount"), type="DIRECT", subtype="IDENTITY")
    maker.store(driver)
    return maker


def test_lineage_prints_a_plain_tree_into_a_pipe(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    done = headwater("lineage", "upstream", ns, "table")
    assert done.out.splitlines() == [
        f"dataset {ns} table",
        f"└─ job {ns} report  · last run FAIL 2026-01-01T02:00:00Z",
        f"   └─ dataset {ns} orders",
        f"      └─ job {ns} load  · last run COMPLETE 2026-01-01T01:00:00Z",
        f"         └─ dataset {ns} raw",
    ]
    assert (done.code, done.err) == (0, "")
    down = headwater("lineage", "downstream", f"{ns}#raw", "--depth", "1")
    assert down.out.splitlines()[-1] == f"cut at depth 1: the graph goes on from {ns} orders (--depth N or all)"


def test_lineage_of_columns(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    done = headwater("lineage", "upstream", ns, "orders", "--column", "amount")
    assert done.out.splitlines() == [
        f"column {ns} orders amount",
        f"└─ column {ns} raw a  (DIRECT/IDENTITY)",
    ]
    assert json.loads(headwater("lineage", "downstream", ns, "raw", "--columns", "--json").out)["complete"]
    assert headwater("lineage", "upstream", ns, "orders", "--columns", "--as-of", "1h").code == 2


def test_without_a_path_the_exit_code_is_1(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert headwater("lineage", "path", ns, "raw", ns, "table").code == 0
    done = headwater("lineage", "path", f"{ns}#table", f"{ns}#raw")
    assert (done.code, done.out) == (1, f"no way from {ns} table to {ns} raw\n")
    table = headwater("lineage", "path", f"{ns}#table", f"{ns}#raw", "--format", "csv")
    assert (table.code, table.out) == (
        1,
        "from_kind,from_namespace,from_name,edge,to_kind,to_namespace,to_name,depth,past\n",
    )
    assert headwater("lineage", "path", f"{ns}#table", f"{ns}#raw", "--format", "mermaid").out == "flowchart LR\n"
    assert headwater("lineage", "path", f"{ns}#table").code == 2


def test_lineage_as_a_picture_is_one_file(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    document = headwater("lineage", "upstream", ns, "table", "--format", "html")
    assert (document.code, document.err) == (0, "")
    assert document.out.startswith("<!doctype html>")
    assert f'["dataset", "{ns}", "raw"]' in document.out
    pytest.importorskip("quickjs", reason="needs quickjs: pip install 'headwater[picture]'")
    picture = headwater("lineage", "upstream", ns, "table", "--format", "svg")
    assert (picture.code, picture.err) == (0, "")
    names = [element.text for element in ET.fromstring(picture.out).iter() if element.get("font-weight")]
    assert sorted(name or "" for name in names) == ["load", "orders", "raw", "report", "table"]
    runs = json.loads(headwater("run", "list", "--job", f"{ns}#report", "--json").out)
    assert headwater("run", "graph", runs["runs"][0]["id"], "--format", "svg").out.startswith("<svg")


def test_wrong_use_exits_with_2_and_names_the_candidates(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert headwater("lineage", "upstream", ns, "nothing").code == 1
    assert headwater("lineage", "upstream", ns, "table", "--depth", "deep").code == 2
    assert headwater("lineage", "upstream", ns, "table", "--as-of", "yesterday").code == 2
    assert headwater("run", "list", "--silent", "--state", "FAIL").code == 2


def test_an_unavailable_server_exits_with_3(
    headwater: Headwater, stored: GraphMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_NEO4J_URI", "bolt://127.0.0.1:1")
    done = headwater("lineage", "upstream", "ns", "table")
    assert done.code == 3
    assert done.err.startswith("headwater: Neo4j does not answer at bolt://127.0.0.1:1: ")
    assert "`headwater up`" in done.err
    assert done.err.count("\n") == 1


def test_runs_are_listed_and_shown(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    done = headwater("run", "list", "--job", f"{ns}#report")
    assert [line.split()[-5:] for line in done.out.splitlines()[1:]] == [
        [ns, "report", "FAIL", "2026-01-01T01:50:00Z", "10m"]
    ]
    run_id = json.loads(headwater("run", "list", "--dataset", f"{ns}#orders", "--json").out)["runs"][0]["id"]
    shown = headwater("run", "show", run_id)
    assert f"  read             {ns} orders  version" in shown.out
    assert "  error            boom\n" in shown.out
    value = json.loads(headwater("run", "show", run_id, "--json").out)
    assert [use["dataset"] for use in value["writes"]] == [[ns, "table"]]
    assert f"version {ns} raw" in headwater("run", "graph", run_id).out
    assert "there are more" in headwater("run", "list", "--limit", "1").out


def test_impact_is_listed_by_distance(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    done = headwater("lineage", "impact", ns, "raw", "--format", "csv")
    assert [line.split(",")[:4] for line in done.out.splitlines()[1:]] == [
        ["1", "dataset", ns, "orders"],
        ["1", "job", ns, "load"],
        ["2", "dataset", ns, "table"],
        ["2", "job", ns, "report"],
    ]
    column = headwater("lineage", "impact", ns, "raw", "--column", "a")
    assert [line.split()[1] for line in column.out.splitlines()[1:]] == ["column", "dataset", "job"]


def test_the_component_shows_both_sides(headwater: Headwater, stored: GraphMaker) -> None:
    lines = headwater("lineage", "component", stored.namespace, "orders").out.splitlines()
    assert len(lines) == 5
    assert sum("(upstream)" in line for line in lines) == 2


def test_versions_of_jobs_and_datasets_are_listed(
    headwater: Headwater, maker: GraphMaker, driver: neo4j.Driver
) -> None:
    ns = maker.namespace
    maker.run("load", ["a"], ["x"], hour=1)
    maker.run("load", ["b"], ["x"], hour=2, state="FAIL")
    maker.store(driver)
    lines = headwater("job", "versions", ns, "load").out.splitlines()
    assert lines[1].startswith("2       2026-01-01T02:00:00Z  1")
    assert lines[1].endswith(f"inputs changed: + {ns} b - {ns} a")
    assert lines[2].endswith("first version")
    diff = headwater("job", "diff", ns, "load")
    assert diff.out.splitlines()[2] == f"  inputs changed: + {ns} b - {ns} a"
    assert (
        headwater("job", "diff", ns, "load", "--from", "2", "--to", "1")
        .out.splitlines()[2]
        .endswith(f"+ {ns} a - {ns} b")
    )
    assert headwater("job", "diff", ns, "load", "--to", "1").code == 2
    versions = json.loads(headwater("dataset", "versions", ns, "x", "--json").out)["versions"]
    assert [(v["state"], v["job"]) for v in versions] == [("FAIL", [ns, "load"]), ("COMPLETE", [ns, "load"])]
    shown = headwater("dataset", "show", ns, "x").out
    assert f"  written by   job {ns} load  · last run FAIL" in shown
    assert f"  writes       dataset {ns} x" in headwater("job", "show", ns, "load").out
    diff = headwater("run", "diff", versions[0]["madeBy"])
    assert "  state: COMPLETE to FAIL" in diff.out
    assert f"  inputs changed: + {ns} b - {ns} a" in diff.out


def test_search_finds_parts_of_names_the_closest_first(
    headwater: Headwater, maker: GraphMaker, driver: neo4j.Driver
) -> None:
    word = maker.namespace.removeprefix("ns-")
    maker.run(f"load_{word}", [f"db.{word}"], [f"{word}_daily"], run_id=f"{word}-run")
    maker.column(f"load_{word}", (f"db.{word}", "a"), (f"{word}_daily", f"total_{word}"))
    maker.store(driver)
    found = json.loads(headwater("search", word.upper(), "--json").out)
    assert [each[-1] for each in found if each[0] != "run"] == [
        f"{word}_daily",
        f"db.{word}",
        f"load_{word}",
        f"total_{word}",
    ]
    assert [each[-1] for each in json.loads(headwater("search", word, "--kind", "run", "--json").out)] == [
        f"{word}-run"
    ]
    assert headwater("search", f"{word}-nothing").code == 1


def test_a_job_is_retired_by_an_event(headwater: Headwater, stored: GraphMaker, topic: str, servers: Servers) -> None:
    ns = stored.namespace
    kafka = ("--kafka-bootstrap-servers", servers.kafka_bootstrap_servers, "--kafka-topic", topic)
    done = headwater("job", "retire", ns, "load", "--reason", "replaced", "--yes", *kafka)
    assert done == Done(0, f"job {ns} load is retired in {topic}, and in the graph once the consumer has read it\n", "")
    event = json.loads(_only_message(servers, topic))
    assert event["job"]["namespace"] == ns
    assert event["job"]["name"] == "load"
    assert event["job"]["facets"]["headwater_retired"]["reason"] == "replaced"
    assert "run" not in event


def _only_message(servers: Servers, topic: str) -> bytes:
    consumer = Consumer(
        {"bootstrap.servers": servers.kafka_bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        return bytes(message.value() or b"")
    finally:
        consumer.close()


def test_cypher_reads_with_parameters(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    text = "MATCH (j:Job {namespace: $ns})-[:CURRENT]->(v) RETURN j.name AS job, v.validFrom AS since, v.runs AS runs"
    done = headwater("cypher", f"{text} ORDER BY job", "-p", f"ns={ns}")
    assert done.out.splitlines() == [
        "job     since                        runs",
        "load    2026-01-01T01:00:00.000000Z  1",
        "report  2026-01-01T02:00:00.000000Z  1",
    ]
    value = json.loads(
        headwater("cypher", "MATCH p=(:Job {namespace: $ns})--(:Run) RETURN p LIMIT 1", "-p", f"ns={ns}", "--json").out
    )
    assert value[0]["p"][0]["namespace"] == ns
    limited = headwater("cypher", "UNWIND range(1, 5) AS n RETURN n", "--limit", "2", "--format", "csv")
    assert (limited.out, limited.err) == ("n\n1\n2\n", "there are more rows (--limit 2)\n")
    assert headwater("cypher", "RETURN [1, null, {a: date('2026-01-01')}] AS x", "--json").out.split() == (
        ["[", "{", '"x":', "[", "1,", "null,", "{", '"a":', '"2026-01-01"', "}", "]", "}", "]"]
    )
    assert headwater("cypher", "MATCH (n) WHERE false RETURN n").out == "no rows\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE (n:Nothing) RETURN n", "this would write"),
        ("MATCH (n:Job) SET n.x = 1", "this would write"),
        ("CREATE INDEX nothing FOR (n:Nothing) ON (n.x)", "this would write"),
        ("CREATE USER nobody SET PASSWORD 'secret-secret'", "this would write"),
        ("MATCH (n:Job) CALL (n) { SET n.x = 1 } IN TRANSACTIONS", "this would write"),
        ("MATCH (n RETURN n", "Neo4j refuses it: Neo.ClientError.Statement.SyntaxError"),
        ("missing.cypher", "missing.cypher can't be read"),
    ],
)
def test_cypher_can_not_write(headwater: Headwater, text: str, said: str) -> None:
    done = headwater("cypher", text)
    assert done.code == 2
    assert said in done.err


def test_an_error_of_several_lines_stays_in_its_place(
    headwater: Headwater, maker: GraphMaker, driver: neo4j.Driver
) -> None:
    maker.run("load", ["raw"], ["orders"])
    failed = maker.run("load", ["raw"], ["orders"], state="FAIL", error="boom\n  at line 1")
    maker.store(driver)
    assert f"  {'error':<16} boom\n{' ' * 19}  at line 1\n" in headwater("run", "show", failed).out
    assert "  error: none to boom…\n" in headwater("run", "diff", failed).out


def test_a_syntax_error_is_printed_with_its_position(headwater: Headwater) -> None:
    assert "(line 1, column 11 (offset: 10))" in headwater("cypher", "MATCH (n) RETRUN n").err


def test_the_schema_shows_the_model_and_all_recipes(headwater: Headwater) -> None:
    done = headwater("graph", "schema")
    assert all(recipe.shown() + ";" in done.out for recipe in recipes())
    assert "(:Dataset)-[:FEEDS {version, since}]->(:Job)" in done.out
    assert "CREATE CONSTRAINT job_key" in done.out


def test_cypher_stops_at_its_time_limit(headwater: Headwater) -> None:
    done = headwater("cypher", "UNWIND range(1, 1000000000) AS n RETURN sum(n)", "--timeout", "0.5")
    assert done.code == 2
    assert done.err == "headwater: no answer within 0.5 s: narrow the question, or raise the limit (--timeout)\n"


def test_reports_are_printed(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    table = headwater("report", "unmade", "--limit", "100000").out
    assert table.startswith("unmade: datasets that are read and that nothing ever made\n")
    assert re.search(rf"^{ns} +raw$", table, re.MULTILINE)
    csv = headwater("report", "unmade", "--limit", "100000", "--format", "csv").out
    assert f"unmade,{ns},raw\n" in csv
    found = json.loads(headwater("report", "missing", "--json", "--limit", "100000").out)
    assert {"namespace": ns, "dataset": "raw"} in next(each for each in found if each["report"] == "unmade")["rows"]
    assert headwater("report", "nothing").code == 2


def test_search_show_and_reports_of_what_is_active(headwater: Headwater, stored: GraphMaker) -> None:
    ns = stored.namespace
    shown = json.loads(
        headwater("dataset", "show", ns, "orders", "--active-since", "2026-01-01T01:30:00Z", "--json").out
    )
    assert (shown["upstream"], shown["downstream"]) == ([], [["job", ns, "report"]])
    assert json.loads(headwater("report", "unread", "--active-since", "9998-01-01", "--json").out)[0]["rows"] == []
    columns = ("lineage", "upstream", ns, "orders", "--columns")
    assert len(headwater(*columns, "--active-since", "2026-01-01T01:30:00Z").out.splitlines()) == 1
    assert headwater("report", "coverage", "--format", "csv").out.startswith("report,producer,")


def test_names_are_completed_from_the_graph(
    headwater: Headwater, maker: GraphMaker, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = GraphMaker(f"{maker.namespace}-other")
    unique = f"t{maker.namespace}"
    run_id = maker.run("load", ["raw"], [f"{unique}-one", f"{unique}-two"])
    other.run("load", [], [f"{unique}-two"])
    for each in (maker, other):
        each.store(driver)

    def completed(line: str) -> list[str]:
        monkeypatch.setenv("_HEADWATER_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"headwater {line}")
        monkeypatch.setenv("COMP_CWORD", str(len(f"headwater {line}".split(" ")) - 1))
        return [line.partition(",")[2] for line in headwater().out.splitlines() if line]

    names = [f"{unique}-one", f"{maker.namespace}#{unique}-two", f"{other.namespace}#{unique}-two"]
    assert completed(f"lineage upstream {unique}") == names
    assert completed(f"dataset show {maker.namespace} {unique}") == [f"{unique}-one", f"{unique}-two"]
    assert completed(f"job show {maker.namespace}#lo") == [f"{maker.namespace}#load"]
    assert completed(f"run show {run_id[:-1]}") == [run_id]
    assert "lineage" in completed("lin")
    monkeypatch.setenv("HEADWATER_NEO4J_URI", "bolt://127.0.0.1:1")
    assert completed(f"lineage upstream {unique}") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(headwater: Headwater, shell: str) -> None:
    done = headwater("completion", shell)
    assert done.code == 0
    assert "_HEADWATER_COMPLETE" in done.out


def test_dead_letters_are_counted_by_reason_each_once(
    headwater: Headwater, servers: Servers, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_KAFKA_BOOTSTRAP_SERVERS", servers.kafka_bootstrap_servers)
    monkeypatch.setenv("HEADWATER_KAFKA_TOPIC", topic)
    assert headwater("report", "dead-letters").out.endswith(": none\n")
    sink = KafkaDeadLetters(f"{topic}.dead", kafka_client(servers.kafka_bootstrap_servers))
    letters = [
        DeadLetter(Message(topic, 0, offset, 1, None, b"{", ()), code, "why", datetime.now(UTC))
        for offset, code in enumerate(("not_decodable", "not_decodable", "too_large"))
    ]
    sink.send([*letters, letters[0]])
    rows = json.loads(headwater("report", "dead-letters", "--json").out)[0]["rows"]
    assert rows == [{"code": "not_decodable", "messages": 2}, {"code": "too_large", "messages": 1}]
