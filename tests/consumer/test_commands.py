"""`headwater dlq`, `headwater doctor` and the ways in which `headwater consume` ends before it begins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Producer

from headwater_avro.errors import ConfigError
from headwater_cli.operations.dlq import dlq, identity_of
from headwater_cli.operations.doctor import doctor
from headwater_consumer.kafka.brokers import kafka_client, partitions_of, prepare_topics
from headwater_consumer.kafka.dead_letter_report import letter_report
from headwater_consumer.kafka.dead_letters import NAMES, REDRIVEN, DeadLetter, KafkaDeadLetters, writing
from headwater_consumer.kafka.messages import Message, messages_on

from ..servers import Servers

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOWHERE = "127.0.0.1:1"


@dataclass
class Desk:
    """A topic with dead letters, and the command line over it."""

    topic: str
    client: dict[str, Any]

    def bury(self, offset: int, code: str = "not_decodable", value: bytes = b"{bad", **changed: Any) -> DeadLetter:
        given: dict[str, Any] = {"timestamp": 1_700_000_000_000, "key": b"k", "headers": (("a", b"1"),)}
        item = DeadLetter(Message(self.topic, 2, offset, value=value, **given | changed), code, "why", WHEN)
        KafkaDeadLetters(f"{self.topic}.dead", self.client).send([item])
        return item

    def run(self, *arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(dlq, arguments)
        assert result.exit_code == code or result.exception, result.output
        if code == 0:
            assert result.exception is None, result.exception
        return result.stdout

    def on_topic(self) -> list[Message]:
        return list(messages_on(self.client, self.topic))


@pytest.fixture
def desk(servers: Servers, topic: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("HEADWATER_KAFKA_BOOTSTRAP_SERVERS", servers.kafka_bootstrap_servers)
    monkeypatch.setenv("HEADWATER_KAFKA_TOPIC", topic)
    return Desk(topic, kafka_client(servers.kafka_bootstrap_servers))


@pytest.mark.end_to_end
def test_each_dead_letter_is_listed_once_even_if_it_was_written_twice(desk: Desk) -> None:
    desk.bury(5)
    desk.bury(5)
    desk.bury(6, code="bad_identity")
    listed = [json.loads(line) for line in desk.run("list", "--json").splitlines()]
    assert [(item["letter"], item["code"]) for item in listed] == [
        (f"{desk.topic}/2/5", "not_decodable"),
        (f"{desk.topic}/2/6", "bad_identity"),
    ]
    assert [json.loads(line)["code"] for line in desk.run("list", "--json", "--code", "bad_identity").splitlines()] == [
        "bad_identity"
    ]


@pytest.mark.end_to_end
def test_a_truncated_list_says_so(desk: Desk) -> None:
    for offset in range(3):
        desk.bury(offset)
    result = CliRunner().invoke(dlq, ["list", "--limit", "1"])
    assert len(result.stdout.splitlines()) == 1
    assert "3 dead letters" in result.stderr
    assert "2 more are not shown" in result.stderr


@pytest.mark.end_to_end
def test_a_dead_letter_is_shown_with_its_whole_message(desk: Desk) -> None:
    desk.bury(5, value=b"{bad \xff")
    shown = json.loads(desk.run("show", f"{desk.topic}/2/5", "--json"))
    assert (shown["key"], shown["headers"], shown["value"]) == ("k", [["a", "1"]], "{bad \\xff")
    assert (shown["code"], shown["detail"], shown["time"]) == ("not_decodable", "why", WHEN.isoformat())
    result = CliRunner().invoke(dlq, ["show", f"{desk.topic}/2/5", "--value"])
    assert result.stdout_bytes == b"{bad \xff"


@pytest.mark.end_to_end
def test_control_sequences_of_a_message_are_not_sent_to_a_terminal(desk: Desk) -> None:
    desk.bury(5, value=b"{\x1b]0;title\x07", headers=(("a", b"\x1b[2J"),))
    assert "\x1b" not in desk.run("show", f"{desk.topic}/2/5")


@pytest.mark.end_to_end
def test_a_missing_letter_is_a_usage_error(desk: Desk) -> None:
    result = CliRunner().invoke(dlq, ["show", f"{desk.topic}/2/5"])
    assert isinstance(result.exception, ConfigError)
    result = CliRunner().invoke(dlq, ["redrive", f"{desk.topic}/2/5"])
    assert isinstance(result.exception, ConfigError)


@pytest.mark.end_to_end
def test_a_redriven_letter_is_its_message_with_the_letters_identity(desk: Desk) -> None:
    first, _ = desk.bury(5), desk.bury(6)
    assert "1 messages sent back" in desk.run("redrive", f"{desk.topic}/2/5")
    (message,) = desk.on_topic()
    was = first.message
    assert (message.key, message.value) == (was.key, was.value)
    # Of the present: Kafka would delete an old message at once.
    assert message.timestamp > was.timestamp + 86_400_000
    assert message.headers == (("a", b"1"), (REDRIVEN, f"{desk.topic}/2/5".encode()))


@pytest.mark.end_to_end
def test_a_letter_redriven_twice_and_rejected_again_is_still_the_same_letter(desk: Desk) -> None:
    desk.bury(5)
    desk.run("redrive", "--all")
    desk.run("redrive", "--all")
    sent = desk.on_topic()
    assert len(sent) == 2
    KafkaDeadLetters(f"{desk.topic}.dead", desk.client).send(
        [DeadLetter(message, "not_decodable", "again", WHEN) for message in sent]
    )
    assert [json.loads(line)["letter"] for line in desk.run("list", "--json").splitlines()] == [f"{desk.topic}/2/5"]
    assert not any(name in NAMES for message in sent for name, _ in message.headers)


@pytest.mark.end_to_end
@pytest.mark.parametrize("garbage", [b"garbage", b"\xff", b"t/0/" + b"9" * 5_000])
def test_a_malformed_identity_breaks_neither_list_nor_report(desk: Desk, garbage: bytes) -> None:
    desk.bury(5, headers=((REDRIVEN, garbage),))
    desk.bury(6)
    listed = [json.loads(line)["letter"] for line in desk.run("list", "--json").splitlines()]
    assert listed == [f"{desk.topic}/2/5", f"{desk.topic}/2/6"]
    assert letter_report(desk.client, f"{desk.topic}.dead").rows == (("not_decodable", 2),)


@pytest.mark.end_to_end
def test_letters_are_redriven_by_reason_but_never_without_a_choice(desk: Desk) -> None:
    desk.bury(5)
    desk.bury(6, code="bad_identity")
    assert json.loads(desk.run("redrive", "--code", "bad_identity", "--json")) == {"redriven": 1}
    assert CliRunner().invoke(dlq, ["redrive"]).exit_code == 2
    assert CliRunner().invoke(dlq, ["redrive", "--all", "--code", "bad_identity"]).exit_code == 2


def test_a_letter_is_identified_by_topic_partition_and_offset() -> None:
    assert identity_of("a/b/0/17") == ("a/b", 0, 17)
    for wrong in ("a", "a/0", "/0/1", "a/x/1", "a/0/-1"):
        with pytest.raises(ConfigError, match="TOPIC/PARTITION/OFFSET"):
            identity_of(wrong)


@pytest.mark.end_to_end
def test_missing_topics_are_created_and_the_message_limit_of_the_dead_letter_topic_is_raised(desk: Desk) -> None:
    topic, dead = f"{desk.topic}.new", f"{desk.topic}.new.dead"
    prepare_topics(desk.client, topic, dead)
    prepare_topics(desk.client, topic, dead)
    assert all(partitions_of(desk.client, [topic, dead]).values())
    Producer(writing(desk.client) | {"compression.type": "none"}).flush()
    largest = DeadLetter(Message(topic, 0, 0, 0, b"k", os.urandom(1_048_000), ()), "not_decodable", "x" * 2_000, WHEN)
    KafkaDeadLetters(dead, desk.client).send([largest])


@pytest.mark.end_to_end
def test_the_doctor_reports_servers_and_hides_secrets(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_NEO4J_URI", f"bolt://{NOWHERE}")
    monkeypatch.setenv("HEADWATER_NEO4J_PASSWORD", "s3cret")
    result = CliRunner().invoke(doctor, ["--json"], standalone_mode=False)
    assert "s3cret" not in result.output
    found = json.loads(result.output)
    states = {check["name"]: check["state"] for check in found["checks"]}
    assert (states["Kafka"], states["Neo4j"], result.return_value) == ("yes", "away", 3)
    origins = {setting["name"]: setting["origin"] for setting in found["settings"]}
    assert (origins["kafka_topic"], origins["neo4j_user"]) == ("environment", "default")
    text = CliRunner().invoke(doctor, standalone_mode=False)
    assert "HEADWATER_KAFKA_TOPIC" in text.output
    assert "s3cret" not in text.output


def consume(**environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    command = [sys.executable, "-m", "headwater_consumer"]
    return subprocess.run(command, env=clean | environ, capture_output=True, text=True, timeout=120, check=False)


def test_an_unavailable_kafka_at_the_start_gives_one_line_and_exit_code_3(tmp_path: Any) -> None:
    (tmp_path / "source.jar").touch()
    ended = consume(
        HEADWATER_KAFKA_BOOTSTRAP_SERVERS=NOWHERE,
        HEADWATER_NEO4J_URI=f"bolt://{NOWHERE}",
        HEADWATER_SPARK_JARS=str(tmp_path),
    )
    assert ended.returncode == 3, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"headwater: Kafka does not answer at {NOWHERE}: ")


def test_wrong_settings_give_one_line_and_exit_code_2() -> None:
    ended = consume(HEADWATER_KAFKA_BOOTSTRAP_SERVERS=NOWHERE, HEADWATER_HTTP_PORT="x")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "HEADWATER_NEO4J_URI is not set" in line
    assert "HEADWATER_HTTP_PORT (environment)" in line


def test_missing_jars_are_reported() -> None:
    ended = consume(
        HEADWATER_KAFKA_BOOTSTRAP_SERVERS=NOWHERE, HEADWATER_NEO4J_URI="bolt://x", HEADWATER_SPARK_JARS="/absent.jar"
    )
    assert ended.returncode == 2
    assert ended.stderr == "headwater: HEADWATER_SPARK_JARS: there is no /absent.jar\n"
