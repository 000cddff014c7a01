"""Everything over secured connections: Kafka by SCRAM and by mutual TLS, Neo4j by TLS with an authority of one's own."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from headwater_consumer.kafka.messages import messages_on

from .conftest import PATIENCE, Secured, Shell
from .secured_servers import free_ports

pytestmark = pytest.mark.end_to_end

JOB = """
from headwater import lineage
with lineage.run("shop", "report") as run:
    run.reads("file", "/orders.csv")
    run.writes("file", "/report.csv")
"""
OVER_HTTP = {
    "eventType": "COMPLETE",
    "eventTime": "2025-01-01T00:00:00Z",
    "run": {"runId": "0190f5c8-0000-7000-8000-000000000002"},
    "job": {"namespace": "shop", "name": "over-http"},
    "outputs": [{"namespace": "file", "name": "/report2.csv"}],
}


def post(port: int, event: object, authorization: str = "") -> int:
    """Send an event over HTTP; return the status of the answer."""
    headers = {"Content-Type": "application/json", "Authorization": authorization}
    address = f"http://127.0.0.1:{port}/api/v1/lineage"
    request = Request(address, json.dumps(event).encode(), headers, method="POST")
    try:
        with urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except HTTPError as refused:
        return refused.code


def until_listening(log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while "listening on" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


@pytest.mark.parametrize("way", ["scram", "mutual"])
def test_events_letters_and_answers_pass_through_secured_servers(
    way: str, secured: Secured, secured_topic: str, tmp_path: Path
) -> None:
    kafka = secured.scram() if way == "scram" else secured.mutual()
    shell = Shell({**kafka, **secured.graph(), "HEADWATER_KAFKA_TOPIC": secured_topic}, tmp_path)
    assert shell.headwater("graph", "init").returncode == 0

    job = shell.python("-c", JOB)
    assert (job.returncode, job.stderr) == (0, "")
    poison = shell.headwater("emit", "--force", "-", given="no event\n")
    assert poison.returncode == 0, poison.stderr
    (port,) = free_ports(1)
    server = shell.start("serve", "--port", str(port), log="serve.log")
    try:
        until_listening(tmp_path / "serve.log")
        assert post(port, OVER_HTTP) == 201
    finally:
        server.terminate()
        server.wait(PATIENCE)
    # The job's START and COMPLETE, the unusable message, and the event over HTTP.
    assert len(list(messages_on({"bootstrap.servers": secured.kafka.plain}, secured_topic))) == 4

    consumed = shell.headwater("consume", "--available-now")
    assert consumed.returncode == 0, consumed.stderr
    letters = shell.headwater("dlq", "list", "--json")
    assert json.loads(letters.stdout.splitlines()[0])["code"] == "not_decodable", letters
    upstream = shell.headwater("lineage", "upstream", "/report.csv")
    assert "/orders.csv" in upstream.stdout, upstream
    doctor = shell.headwater("doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert f"{secured_topic} has 2 partitions" in doctor.stdout


REFUSED = {
    "wrong password": (
        "scram",
        {"HEADWATER_KAFKA_SASL_PASSWORD": "wrong"},
        "refuses the account: set HEADWATER_KAFKA_SASL_USERNAME",
    ),
    "another mechanism": (
        "scram",
        {"HEADWATER_KAFKA_SASL_MECHANISM": "PLAIN"},
        "refuses the account: set HEADWATER_KAFKA_SASL_USERNAME",
    ),
    "unknown authority": (
        "scram",
        {"HEADWATER_KAFKA_SSL_CA": "stranger"},
        "is not trusted: set HEADWATER_KAFKA_SSL_CA",
    ),
    "the system's authorities": ("scram", {"HEADWATER_KAFKA_SSL_CA": ""}, "is not trusted: set HEADWATER_KAFKA_SSL_CA"),
    "plaintext": (
        "scram",
        {"HEADWATER_KAFKA_SECURITY_PROTOCOL": "PLAINTEXT"},
        "closes the connection without an answer; if it uses TLS or SASL here, set HEADWATER_KAFKA_SECURITY_PROTOCOL",
    ),
    "no certificate": (
        "mutual",
        {"HEADWATER_KAFKA_SSL_KEYSTORE": ""},
        "requires a certificate of an authority it trusts: set HEADWATER_KAFKA_SSL_KEYSTORE",
    ),
    "a stranger's certificate": (
        "mutual",
        {"HEADWATER_KAFKA_SSL_KEYSTORE": "client of stranger"},
        "requires a certificate of an authority it trusts: set HEADWATER_KAFKA_SSL_KEYSTORE",
    ),
}


def kafka_of(case: str, secured: Secured) -> tuple[dict[str, str], str]:
    """Return the settings of a client that Kafka refuses, and what its error must say."""
    way, changes, expected = REFUSED[case]
    files = {
        "stranger": str(secured.stranger.certificate),
        "client of stranger": str(secured.stranger.sign("client")),
    }
    settings = secured.scram() if way == "scram" else secured.mutual()
    settings |= {name: files.get(value, value) for name, value in changes.items()}
    return settings, expected


@pytest.mark.parametrize("case", REFUSED)
def test_a_client_that_kafka_refuses_learns_what_to_do(case: str, secured: Secured, tmp_path: Path) -> None:
    settings, expected = kafka_of(case, secured)
    doctor = Shell(settings, tmp_path).headwater("doctor", "--json")
    checks = {one["name"]: one for one in json.loads(doctor.stdout)["checks"]}
    assert doctor.returncode == 3
    assert expected in checks["Kafka"]["text"]


@pytest.mark.parametrize("case", ["wrong password", "unknown authority", "plaintext"])
def test_a_consumer_that_kafka_refuses_ends_with_one_line_that_says_what_to_do(
    case: str, secured: Secured, secured_topic: str, tmp_path: Path
) -> None:
    settings, expected = kafka_of(case, secured)
    shell = Shell({**settings, **secured.graph(), "HEADWATER_KAFKA_TOPIC": secured_topic}, tmp_path)
    ended = shell.headwater("consume", "--available-now")
    assert ended.returncode == 3, ended.stderr
    assert expected in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("case", ["wrong password", "unknown authority", "plaintext"])
def test_a_job_whose_emitter_kafka_refuses_warns_once_and_spools(
    case: str, secured: Secured, secured_topic: str, tmp_path: Path
) -> None:
    settings, expected = kafka_of(case, secured)
    shell = Shell({**settings, "HEADWATER_KAFKA_TOPIC": secured_topic}, tmp_path)
    job = shell.python("-c", JOB)
    assert job.returncode == 0
    assert len(re.findall(expected, job.stderr)) == 1, job.stderr
    spooled = shell.headwater("spool", "list")
    assert "2 events" in spooled.stdout, spooled


NOT_TRUSTED = "its certificate is not trusted"
GRAPHS = {
    "the system's authorities": ({"HEADWATER_NEO4J_CA": ""}, 3, f"{NOT_TRUSTED} .*set HEADWATER_NEO4J_CA"),
    "unknown authority": ({"HEADWATER_NEO4J_CA": "stranger"}, 3, f"{NOT_TRUSTED} .*set HEADWATER_NEO4J_CA"),
    "another name": ({"HEADWATER_NEO4J_URI": "bolt+s://localhost:{port}"}, 3, f"{NOT_TRUSTED} .*use the name in it"),
    "without TLS": (
        {"HEADWATER_NEO4J_URI": "bolt://{host}", "HEADWATER_NEO4J_CA": ""},
        3,
        r"requires TLS, .*bolt\+s://",
    ),
    "an authority and no TLS": ({"HEADWATER_NEO4J_URI": "bolt://{host}"}, 2, r"HEADWATER_NEO4J_CA: write .*bolt\+s://"),
    "no such file": ({"HEADWATER_NEO4J_CA": "/nowhere/ca.crt"}, 2, "HEADWATER_NEO4J_CA: /nowhere/ca.crt is not a PEM"),
    "any certificate": ({"HEADWATER_NEO4J_URI": "bolt+ssc://{host}", "HEADWATER_NEO4J_CA": ""}, 0, ""),
    "an authority of Python": ({"HEADWATER_NEO4J_CA": "", "SSL_CERT_FILE": "authority"}, 0, ""),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_a_certificate_of_neo4j_that_is_not_trusted_is_refused_with_what_to_do(
    case: str, secured: Secured, tmp_path: Path
) -> None:
    changes, code, expected = GRAPHS[case]
    files = {"stranger": str(secured.stranger.certificate), "authority": str(secured.authority.certificate)}
    host, port = secured.neo4j, secured.neo4j.rpartition(":")[2]
    changed = {name: files.get(value, value).format(host=host, port=port) for name, value in changes.items()}
    shell = Shell(secured.graph() | changed, tmp_path)
    ended = shell.headwater("graph", "init")
    assert ended.returncode == code, ended.stderr
    assert re.search(expected, ended.stderr), ended.stderr
    assert "Traceback" not in ended.stderr
