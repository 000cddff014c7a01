"""Signed messages on real Kafka: a consumer with keys reads what their holders may state, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater_consumer.kafka.messages import messages_on

from .conftest import PATIENCE, Secured, Shell
from .secured_servers import free_ports
from .test_secured_servers import OVER_HTTP, post, until_listening

pytestmark = pytest.mark.end_to_end

JOB = """
import sys
from headwater import lineage
with lineage.run(sys.argv[1], sys.argv[2]) as run:
    run.writes("file", "/" + sys.argv[2])
"""


def test_only_signed_messages_about_the_namespaces_of_their_key_are_read(
    secured: Secured, secured_topic: str, tmp_path: Path
) -> None:
    plain = Shell(
        {
            "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": secured.kafka.plain,
            "HEADWATER_KAFKA_TOPIC": secured_topic,
            **secured.graph(),
        },
        tmp_path,
    )
    keys, own = tmp_path / "producers.keys", tmp_path / "shop.key"
    made = plain.headwater("keys", "new", "shop", "--namespace", "shop", "--file", str(keys))
    own.write_text(made.stdout)
    signing = Shell(plain.settings | {"HEADWATER_EMITTER_SIGNING_KEY_FILE": str(own)}, tmp_path)
    for shell, namespace, job in (
        (signing, "shop", "signed"),
        (signing, "bank", "elsewhere"),
        (plain, "shop", "unsigned"),
    ):
        ran = shell.python("-c", JOB, namespace, job)
        assert (ran.returncode, ran.stderr) == (0, "")
    (port,) = free_ports(1)
    gateway = Shell(plain.settings | {"HEADWATER_WEB_SIGNING_KEY_FILE": str(own)}, tmp_path)
    server = gateway.start("serve", "--port", str(port), log="serve.log")
    try:
        until_listening(tmp_path / "serve.log")
        assert post(port, OVER_HTTP) == 201
    finally:
        server.terminate()
        server.wait(PATIENCE)
    assert len(list(messages_on({"bootstrap.servers": secured.kafka.plain}, secured_topic))) == 7

    consumer = Shell(plain.settings | {"HEADWATER_PRODUCER_KEYS": str(keys)}, tmp_path)
    consumed = consumer.headwater("consume", "--available-now")
    assert consumed.returncode == 0, consumed.stderr
    dump = plain.headwater("graph", "dump").stdout
    assert '["shop","signed"]' in dump
    assert '["shop","over-http"]' in dump
    assert "elsewhere" not in dump
    assert "unsigned" not in dump
    letters = [json.loads(line) for line in plain.headwater("dlq", "list", "--json").stdout.splitlines()]
    assert [letter["code"] for letter in letters] == ["not_allowed"] * 4
    assert {letter["detail"].partition(" ")[2][:20] for letter in letters} == {
        "message needs the he",
        "key shop is not one ",
    }


def test_a_consumer_whose_file_of_keys_is_wrong_does_not_start(
    secured: Secured, secured_topic: str, tmp_path: Path
) -> None:
    (tmp_path / "producers.keys").write_text("shop\n")
    settings = {"HEADWATER_PRODUCER_KEYS": str(tmp_path / "producers.keys"), "HEADWATER_KAFKA_TOPIC": secured_topic}
    kafka = {"HEADWATER_KAFKA_BOOTSTRAP_SERVERS": secured.kafka.plain}
    ended = Shell({**kafka, **settings, **secured.graph()}, tmp_path).headwater("consume", "--available-now")
    assert ended.returncode == 2
    assert "line 1: a line is ID hmac:SECRET NAMESPACE" in ended.stderr


def test_an_emitter_whose_key_cannot_be_read_keeps_its_events_in_the_spool(
    secured: Secured, secured_topic: str, tmp_path: Path
) -> None:
    settings = {"HEADWATER_KAFKA_BOOTSTRAP_SERVERS": secured.kafka.plain, "HEADWATER_KAFKA_TOPIC": secured_topic}
    shell = Shell(settings | {"HEADWATER_EMITTER_SIGNING_KEY_FILE": str(tmp_path / "none")}, tmp_path)
    ran = shell.python("-c", JOB, "shop", "waiting")
    assert ran.returncode == 0
    assert "signing_key_file" in ran.stderr
    assert "2 events" in shell.headwater("spool", "list").stdout
    assert list(messages_on({"bootstrap.servers": secured.kafka.plain}, secured_topic)) == []
