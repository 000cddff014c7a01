"""What `headwater doctor` shows of settings: of all parts, with their origins, without secrets; no server is needed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from headwater_cli.operations.doctor import doctor

CONF = "spark.hadoop.fs.s3a.secret.key=hunter2,spark.executorEnv.PGPASS=hunter2,spark.sql.shuffle.partitions=8"
JAVA = ",spark.driver.extraJavaOptions=-Djavax.net.ssl.keyStorePassword=hunter2 -Dx=1"


Shown = dict[str, tuple[object, str]]


def settings_in(output: str) -> Shown:
    """The values and origins of the settings in an answer as JSON."""
    return {one["name"]: (one["value"], one["origin"]) for one in json.loads(output)["settings"]}


def checks_in(output: str) -> dict[str, tuple[str, str]]:
    return {one["name"]: (one["state"], one["text"]) for one in json.loads(output)["checks"]}


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_doctor_hides_secrets_inside_settings(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_SPARK_CONF", CONF + JAVA)
    monkeypatch.setenv("HEADWATER_NEO4J_URI", "neo4j://user:hunter2@127.0.0.1:1")
    monkeypatch.setenv("HEADWATER_NEO4J_PASSWORD", "hunter2")
    monkeypatch.setenv("HEADWATER_SCHEMA_REGISTRY_URL", "http://user:hunter2@127.0.0.1:1")
    result = CliRunner().invoke(doctor, arguments, standalone_mode=False)
    assert result.exception is None
    assert "hunter2" not in result.output
    assert "neo4j://user:***@127.0.0.1:1" in result.output
    assert "an address holds no account" in result.output
    if arguments:
        shown = {name: value for name, (value, _) in settings_in(result.output).items()}
        assert shown["neo4j_password"] == "(hidden)"
        assert shown["spark_conf"] == {
            "spark.hadoop.fs.s3a.secret.key": "***",
            "spark.executorEnv.PGPASS": "***",
            "spark.sql.shuffle.partitions": "8",
            "spark.driver.extraJavaOptions": "-Djavax.net.ssl.keyStorePassword=*** -Dx=1",
        }


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder without files, and an environment without settings but those of the test."""
    for name in os.environ:
        if name.startswith(("HEADWATER_", "OPENLINEAGE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def doctored() -> str:
    result = CliRunner().invoke(doctor, ["--json"], standalone_mode=False)
    assert result.exception is None
    return result.output


@pytest.mark.usefixtures("no_settings")
def test_the_doctor_shows_the_settings_of_emitter_and_http_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "KAFKA_TOPIC": "shop.events",
        "EMITTER_CLOSE_TIMEOUT": "2.5",
        "EMITTER_REDACT_PATTERNS": '["hunter2"]',
        "EMITTER_KAFKA": '{"sasl.password": "hunter2", "acks": "1"}',
        "KAFKA_SASL_MECHANISM": "PLAIN",
        "WEB_TOKENS": '["hunter2"]',
        "WEB_MAX_DEPTH": "7",
    }.items():
        monkeypatch.setenv(f"HEADWATER_{name}", value)
    output = doctored()
    shown = settings_in(output)
    assert "hunter2" not in output
    assert {name: shown[name] for name in shown if shown[name][1] != "default" and name[:4] in ("emit", "web_")} == {
        "emitter_topic": ("shop.events", "environment: HEADWATER_KAFKA_TOPIC"),
        "emitter_close_timeout": (2.5, "environment"),
        "emitter_redact_patterns": ("(hidden)", "environment"),
        "emitter_kafka": ({"sasl.mechanism": "PLAIN", "sasl.password": "***", "acks": "1"}, "environment"),
        "emitter_spool_dir": (f"{os.environ['HEADWATER_HOME']}/spool", "environment: HEADWATER_HOME"),
        "web_tokens": ("(hidden)", "environment"),
        "web_max_depth": (7, "environment"),
    }
    assert shown["emitter_queue_events"] == (10_000, "default")
    assert shown["web_port"] == (8080, "default")
    state, text = checks_in(output)["emitter"]
    assert state == "yes"
    assert text.startswith("no address of Kafka is set: events are stored in ")


@pytest.mark.usefixtures("no_settings")
def test_the_doctor_shows_what_openlineage_python_is_configured_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "headwater.transport.HeadwaterTransport")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__BOOTSTRAP_SERVERS", "127.0.0.1:1")
    output = doctored()
    assert settings_in(output)["emitter_bootstrap_servers"] == ("127.0.0.1:1", "openlineage-python")
    assert checks_in(output)["emitter"] == ("yes", "events are sent to the topic lineage.events at 127.0.0.1:1")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "console")
    assert "transport console" in checks_in(doctored())["emitter"][1]
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    assert checks_in(doctored())["emitter"][1] == "lineage is off (OPENLINEAGE_DISABLED)"


@pytest.mark.usefixtures("no_settings")
@pytest.mark.parametrize("name", ["EMITTER_QUEUE_EVENTS", "EMITTER_CLOSE_TIMEOUT", "WEB_PORT", "WEB_TOKENS"])
def test_the_doctor_reports_wrong_settings_of_emitter_and_http_server(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"HEADWATER_{name}", "hunter2")
    output = doctored()
    part, _, setting = name.partition("_")
    state, text = checks_in(output)["emitter" if part == "EMITTER" else "HTTP server"]
    assert state == "no"
    assert setting.lower() in text.lower()
    assert "hunter2" not in output
