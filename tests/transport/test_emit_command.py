"""``headwater emit`` sends the bytes of each document unchanged; ``headwater spool`` lists and sends spooled events."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headwater.transport.broker import Message
from headwater.transport.spool import PENDING, REFUSED, Spool, segments
from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_cli.emit import MAX_FAULTS, emit, spool

from ..servers import Servers
from .events import arrived, run_event

SCHEMAS = Path(__file__).parents[2] / "../shared/data/openlineage/schemas"
RUN = "0190f5c8-0000-7000-8000-000000000001"

LINES = [
    json.dumps(run_event(RUN), indent=None).encode(),
    b'  { "run" : {"runId":"spaced"} , "job":{"namespace":"n","name":"j"}, "password": "pw", "x": null }  ',
    b"not json at all",
    b"\xff\xfe not even text",
    b'{"job": {"namespace": "n", "name": "j"}}',
]


@pytest.fixture(autouse=True)
def kafka(servers: Servers, topic: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADWATER_KAFKA_BOOTSTRAP_SERVERS", servers.kafka_bootstrap_servers)
    monkeypatch.setenv("HEADWATER_KAFKA_TOPIC", topic)
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))


def call(command: Any, *arguments: str, data: bytes | None = None) -> Result:
    return CliRunner().invoke(command, arguments, input=data, standalone_mode=False)


def test_what_is_forced_is_sent_line_by_line_whatever_it_is(servers: Servers, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\n".join(LINES[:3]) + b"\r\n\n" + b"\n".join(LINES[3:]))
    result = call(emit, "--force", str(file))
    assert (result.return_value, result.output) == (0, f"5 of 5 events are in {topic}\n")
    messages = arrived(servers.kafka_bootstrap_servers, topic, 5)
    assert sorted(value for _, value in messages) == sorted(LINES)
    keys = {value: key for key, value in messages}
    assert [keys[line] for line in LINES] == [RUN.encode(), b"spaced", None, None, b"job:n/j"]


def test_from_standard_input_and_as_json(servers: Servers, topic: str) -> None:
    result = call(emit, "-", "--json", data=LINES[0] + b"\n")
    assert json.loads(result.output) == {"documents": 1, "delivered": 1, "faults": []}
    assert arrived(servers.kafka_bootstrap_servers, topic, 1) == [(RUN.encode(), LINES[0])]


def pretty(run_id: str) -> bytes:
    return json.dumps(run_event(run_id), indent=2).encode()


def line(run_id: str) -> bytes:
    return json.dumps(run_event(run_id)).encode()


@pytest.mark.parametrize("way", ["file", "standard input"])
def test_documents_of_any_layout_are_one_event_each(way: str, servers: Servers, topic: str, tmp_path: Path) -> None:
    events = [pretty("a"), pretty("b"), pretty("c"), line("d"), line("e"), pretty("f"), line("g"), line("h")]
    data = b"%s\n%s%s\n%s\n\n%s\n[%s,\n%s]\n[\n%s\n]\n" % tuple(events)
    file = tmp_path / "pretty.json"
    file.write_bytes(data)
    # A pipe can't be read twice, so a program of its own is the one that reads it.
    given = file if way == "file" else "-"
    command = [sys.executable, "-m", "headwater_cli", "emit", str(given)]
    done = subprocess.run(command, input=data, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"8 of 8 events are in {topic}\n", b"")
    messages = dict(arrived(servers.kafka_bootstrap_servers, topic, 8))
    assert messages == dict(zip([name.encode() for name in "abcdefgh"], events, strict=True))


def test_nothing_is_sent_if_a_document_is_not_an_event(servers: Servers, topic: str) -> None:
    data = pretty("a") + b'\n{"job": {"namespace": "n", "name": "j"}}\nnot json\n' + line("b") + b'\n{"run": [\n'
    result = call(emit, "-", data=data)
    end = pretty("a").count(b"\n") + 1
    assert result.return_value == 1
    assert result.output.splitlines() == [
        f"document 2 (line {end + 1}): missing_identity: missing: eventTime",
        f"document 3 (line {end + 2}): not_decodable: not JSON: Expecting value: line 1 column 1 (char 0)",
        f"document 5 (line {end + 4}): not JSON: Expecting value (line {end + 5})",
        "3 of the documents are not events: nothing was sent (--force sends without this check)",
    ]
    assert call(emit, "-", data=line("last")).return_value == 0
    assert [key for key, _ in arrived(servers.kafka_bootstrap_servers, topic, 1)] == [b"last"]


def test_a_file_without_events_is_refused_at_once_and_without_kafka() -> None:
    result = call(emit, "-", "--json", "--kafka-bootstrap-servers", "127.0.0.1:1", data=b"nothing\n" * 100_000)
    assert result.return_value == 1
    answer = json.loads(result.output)
    assert (answer["delivered"], len(answer["faults"]), answer["documents"]) == (0, MAX_FAULTS, MAX_FAULTS + 1)


def test_faulty_documents_are_reported_with_their_place_and_not_sent(servers: Servers, topic: str) -> None:
    data = b"\n".join([*LINES, LINES[0]])
    refused = call(emit, "-", "--validate", "--json", data=data)
    result = call(emit, "-", "--validate", "--force", "--json", data=data)
    assert (refused.return_value, result.return_value) == (1, 1)
    answer = json.loads(result.output)
    assert json.loads(refused.output) == answer | {"delivered": 0}
    assert (answer["documents"], answer["delivered"]) == (6, 2)
    places = {(fault["line"], fault["pointer"]) for fault in answer["faults"]}
    assert {(2, "/eventTime"), (2, "/run/runId"), (3, ""), (4, ""), (5, "/eventTime")} == places
    assert {value for _, value in arrived(servers.kafka_bootstrap_servers, topic, 2)} == {LINES[0]}


def test_faults_by_the_json_schemas() -> None:
    if not SCHEMAS.is_dir():
        pytest.skip(f"OpenLineage's schemas are not in {SCHEMAS}")
    event = run_event(RUN, producer="p", schemaURL="https://x/y")
    event["job"]["facets"]["sql"] = {"_producer": "https://p", "_schemaURL": "https://s", "query": 7}
    event["inputs"] = [{"namespace": "n"}]
    result = call(emit, "-", "--schemas", str(SCHEMAS), "--json", data=json.dumps(event).encode())
    faults = {(fault["pointer"], fault["fault"]) for fault in json.loads(result.output)["faults"]}
    assert ("/job/facets/sql/query", "7 is not of type 'string'") in faults
    assert ("/inputs/0", "'name' is a required property") in faults
    assert result.return_value == 1


def test_prepared_on_request(servers: Servers, topic: str) -> None:
    result = call(emit, "-", "--prepare", "--force", data=LINES[1])
    assert result.return_value == 0
    ((_, value),) = arrived(servers.kafka_bootstrap_servers, topic, 1)
    assert json.loads(value) == {"run": {"runId": "spaced"}, "job": {"namespace": "n", "name": "j"}, "password": "***"}


def test_wrong_use(tmp_path: Path) -> None:
    for arguments in (("nowhere.jsonl",), ("-", "--format", "avro"), ("-", "--schemas", str(tmp_path))):
        assert isinstance(call(emit, *arguments).exception, ConfigError)


def test_kafka_that_cannot_be_reached() -> None:
    result = call(emit, "-", "--kafka-bootstrap-servers", "127.0.0.1:1", data=LINES[0])
    assert isinstance(result.exception, ServerUnavailable)


def test_a_refused_line(topic: str) -> None:
    large = json.dumps(run_event("large", text="".join(chr(97 + n * n % 26) for n in range(5_000_000)))).encode()
    result = call(emit, "-", "--json", data=large + b"\n" + LINES[0])
    assert result.return_value == 1
    answer = json.loads(result.output)
    assert answer["delivered"] == 1
    assert [fault["line"] for fault in answer["faults"]] == [1]


def left(directory: Path, topic: str, suffix: str = PENDING) -> None:
    spool = Spool(directory, topic, 1_000_000, suffix)
    for n in range(3):
        spool.append(Message(b"k", b"%d" % n))
    spool.close()


def test_the_spool_is_listed_and_sent(servers: Servers, topic: str, tmp_path: Path) -> None:
    left(tmp_path, topic)
    left(tmp_path, topic, REFUSED)
    rows = json.loads(call(spool, "list", "--dir", str(tmp_path), "--json").output)
    assert [(row["records"], row["topic"], row["busy"], row["refused"]) for row in rows] == [
        (3, topic, False, False),
        (3, topic, False, True),
    ]
    result = call(spool, "replay", "--dir", str(tmp_path), "--json")
    assert json.loads(result.output) == {"files": 1, "delivered": 3, "refused": 0}
    assert [path.suffix for path in segments(tmp_path, PENDING, REFUSED)] == [REFUSED]
    result = call(spool, "replay", "--dir", str(tmp_path), "--refused")
    assert result.output == "3 events of 1 files sent, 0 refused\n"
    assert segments(tmp_path, PENDING, REFUSED) == []
    assert len(arrived(servers.kafka_bootstrap_servers, topic, 6)) == 6


def test_a_spool_in_use_is_left_to_its_process(topic: str, tmp_path: Path) -> None:
    busy = Spool(tmp_path, topic, 1_000_000)
    busy.append(Message(None, b"x"))
    result = call(spool, "replay", "--dir", str(tmp_path))
    assert result.output == "0 events of 0 files sent, 0 refused\n"
    assert "in use" in call(spool, "list", "--dir", str(tmp_path)).output
    busy.close()


def test_a_replay_that_fails_leaves_the_spool(topic: str, tmp_path: Path) -> None:
    left(tmp_path, topic)
    result = call(spool, "replay", "--dir", str(tmp_path), "--kafka-bootstrap-servers", "127.0.0.1:1")
    assert isinstance(result.exception, ServerUnavailable)
    assert len(segments(tmp_path, PENDING)) == 1
