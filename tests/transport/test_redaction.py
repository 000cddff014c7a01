"""Secrets are replaced, and values that only resemble secrets stay."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headwater.transport.redaction import Redaction

from .conftest import MakeTransport
from .events import MemoryBroker, run_event

AWS_KEY = "AKIA" + "ABCDEFGH12345678"
TOKEN = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"

SECRETS = [
    ("postgres://u:pw@h:5432/d", "postgres://u:***@h:5432/d"),
    ("amqp://:p@ss@h/x", "amqp://:***@h/x"),
    ("jdbc:postgresql://h/d?user=a&password=pw&ssl=true", "jdbc:postgresql://h/d?user=a&password=***&ssl=true"),
    ("jdbc:sqlserver://h;user=a;password=pw;x=1", "jdbc:sqlserver://h;user=a;password=***;x=1"),
    ("jdbc:oracle:thin:scott/tiger@h:1521/x", "jdbc:oracle:thin:scott/***@h:1521/x"),
    ("https://b/x?X-Amz-Signature=ab12&part=1", "https://b/x?X-Amz-Signature=***&part=1"),
    ("https://b/x?sv=1&sig=ab%2F12", "https://b/x?sv=1&sig=***"),
    ("CREATE USER x IDENTIFIED BY 'ti''ger' REQUIRE SSL", "CREATE USER x IDENTIFIED BY '***' REQUIRE SSL"),
    ("create user x identified by tiger", "create user x identified by ***"),
    ("ALTER ROLE x WITH PASSWORD 'pw' LOGIN", "ALTER ROLE x WITH PASSWORD '***' LOGIN"),
    ("COPY t FROM 's3://b' CREDENTIALS 'aws_access_key_id=A;x=B'", "COPY t FROM 's3://b' CREDENTIALS '***'"),
    ("SELECT * FROM u WHERE password = 'pw'", "SELECT * FROM u WHERE password = '***'"),
    ('api_key = "abc def"', 'api_key = "***"'),
    ('{"clientSecret": "abc", "user": "u"}', '{"clientSecret": "***", "user": "u"}'),
    ("spark-submit --db-password pw --name x", "spark-submit --db-password *** --name x"),
    ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
    (f"key {AWS_KEY} used", "key *** used"),
    (f"got {TOKEN}", "got ***"),
    (PEM, "***"),
]

HARMLESS = [
    "SELECT token, primary_key, count(*) FROM tokens WHERE author = 'x'",
    "s3://bucket/key=1/part-0000.parquet",
    "token = tokenizer.next()",
    "the bearer of this message has passed a test",
    "user@example.com",
    "http://h:8080/a/b",
    "design signals, assassins and compasses",
]


@pytest.mark.parametrize(("text", "clean"), SECRETS)
def test_secrets_in_text(text: str, clean: str) -> None:
    redaction = Redaction()
    assert redaction.text(text) == clean
    assert redaction.suspects(text.encode())
    assert redaction.text(clean) == clean


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_not_a_secret_stays(text: str) -> None:
    assert Redaction().text(text) == text


def test_members_named_like_secrets() -> None:
    clean, count = Redaction().redact(
        {
            "properties": {"spark.hadoop.fs.s3a.secret.key": "x", "spark.app.name": "n", "sasl.jaas.config": "y"},
            "variables": [{"name": "DB_PASSWORD", "value": "x"}, {"name": "HOME", "value": "/root"}],
            "parameters": [{"key": "apiKey", "value": 7}],
            "passwords": ["a", "b"],
            "urls": ["amqp://u:pw@h", "amqp://h"],
        }
    )
    assert clean == {
        "properties": {"spark.hadoop.fs.s3a.secret.key": "***", "spark.app.name": "n", "sasl.jaas.config": "***"},
        "variables": [{"name": "DB_PASSWORD", "value": "***"}, {"name": "HOME", "value": "/root"}],
        "parameters": [{"key": "apiKey", "value": "***"}],
        "passwords": ["***", "***"],
        "urls": ["amqp://u:***@h", "amqp://h"],
    }
    assert count == 7


def test_columns_named_like_secrets_stay_in_lineage() -> None:
    facets = {
        "schema": {"fields": [{"name": "password", "type": "string"}, {"name": "token", "type": "string"}]},
        "columnLineage": {
            "fields": {"password": {"inputFields": [{"namespace": "n", "name": "d", "field": "secret"}]}}
        },
    }
    assert Redaction().redact({"facets": facets}) == ({"facets": facets}, 0)


def test_names_lose_the_passwords_of_urls_and_nothing_else() -> None:
    dataset = {"namespace": "postgres://u:pw@h:5432", "name": "token=abc/password=x"}
    clean, count = Redaction().redact({"inputs": [dataset]})
    assert clean == {"inputs": [{"namespace": "postgres://u:***@h:5432", "name": "token=abc/password=x"}]}
    assert count == 1


def test_own_patterns() -> None:
    redaction = Redaction((r"\d{3}-\d{2}-\d{4}", r"customer (\w+)"))
    assert redaction.suspects(b"{}")
    assert redaction.text("ssn 123-45-6789 of customer Miller") == "ssn *** of customer ***"


@pytest.mark.parametrize(
    "bait", ["a", "pass", "://a:", "password=", "x://a:", "'", "eyJ", "identified by ", "--token "]
)
def test_no_text_takes_long(bait: str) -> None:
    text = bait * (200_000 // len(bait))
    begun = time.process_time()
    Redaction().text(text)
    assert time.process_time() - begun < 5


def test_secrets_reach_neither_kafka_nor_the_disk(make_transport: MakeTransport, tmp_path: Any, spool_dir: Any) -> None:
    broker = MemoryBroker()
    secret = {"sql": {"query": "CREATE USER x IDENTIFIED BY 'hunter2'"}}
    event = run_event("r", job={"namespace": "n", "name": "j", "facets": secret})
    sent = make_transport(lambda _: broker)
    spooling = make_transport(bootstrap_servers="", replay=False)
    for transport in (sent, spooling):
        transport.emit(event)
        transport.close(5)
        assert transport.counters().redacted == 1
    on_disk = b"".join(path.read_bytes() for path in spool_dir.iterdir())
    for data in (broker.received[0].value, on_disk):
        assert b"hunter2" not in data
        assert b"IDENTIFIED BY '***'" in data


def test_redaction_can_be_off(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker, redact=False)
    transport.emit(run_event("r", producer="postgres://u:pw@h", password="pw"))
    transport.close(5)
    assert b'"password":"pw"' in broker.received[0].value
