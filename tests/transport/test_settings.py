"""Settings come from openlineage-python's configuration and the environment; a wrong one never fails a job."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.transport import HeadwaterConfig
from headwater.transport.broker import KafkaBroker, import_callback, producer_settings
from headwater.transport.settings import read_settings


def read(environ: dict[str, str] | None = None, **params: Any) -> HeadwaterConfig:
    config, faults = read_settings(params, {"HEADWATER_HOME": "/h"} | (environ or {}))
    assert faults == []
    return config


def test_defaults() -> None:
    config = read()
    assert config.topic == "lineage.events"
    assert config.spool_dir == "/h/spool"
    assert config.close_timeout == 5.0


def test_the_environment_fills_what_the_configuration_leaves_out() -> None:
    environ = {
        "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": "k:9092",
        "HEADWATER_KAFKA_TOPIC": "t",
        "HEADWATER_EMITTER_CLOSE_TIMEOUT": "2.5",
        "HEADWATER_EMITTER_REDACT": "false",
        "HEADWATER_KAFKA_HEAP": "512m",
    }
    config = read(environ, topic="mine")
    assert (config.bootstrap_servers, config.topic, config.close_timeout, config.redact) == (
        "k:9092",
        "mine",
        2.5,
        False,
    )
    assert config.kafka == {}


def test_what_openlineages_variables_become() -> None:
    # As openlineage-python parses OPENLINEAGE__TRANSPORT__KAFKA__SASL__MECHANISM and JSON values.
    nested = {"sasl": {"mechanism": "PLAIN"}, "security.protocol": "SASL_SSL"}
    assert read(kafka=nested).kafka == {"sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL"}
    assert read(config={"acks": 1}).kafka == {"acks": 1}
    assert read(redact_patterns=["a", "b"]).redact_patterns == ("a", "b")
    assert read({"HEADWATER_EMITTER_REDACT_PATTERNS": '["a"]'}).redact_patterns == ("a",)
    assert read({"HEADWATER_EMITTER_KAFKA": '{"acks": "1"}'}).kafka == {"acks": "1"}


def test_security_settings_with_the_consumers_names() -> None:
    environ = {
        "HEADWATER_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "HEADWATER_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
        "HEADWATER_KAFKA_SASL_USERNAME": "u",
        "HEADWATER_KAFKA_SASL_PASSWORD": "p",
        "HEADWATER_KAFKA_SSL_CA": "/ca.pem",
        "HEADWATER_KAFKA_SSL_KEYSTORE": "/own.pem",
    }
    assert read(environ).kafka == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u",
        "sasl.password": "p",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/own.pem",
        "ssl.key.location": "/own.pem",
    }


def test_all_faults_at_once_and_defaults_in_their_place(caplog: pytest.LogCaptureFixture) -> None:
    wrong = {
        "format": "xml",
        "queue_events": "many",
        "close_timeout": -1,
        "redact_patterns": "(",
        "nonsense": 1,
        "kafka": "[]",
    }
    config = HeadwaterConfig.from_dict(wrong)
    assert (config.format, config.queue_events, config.close_timeout) == ("json", 10_000, 5.0)
    assert "many" not in caplog.text, "any value may be a password that was given to the wrong setting"
    (record,) = caplog.records
    for name in ("format", "queue_events", "close_timeout", "redact_patterns", "nonsense", "kafka"):
        assert name in record.getMessage()


def test_the_producer_is_careful_and_the_users_settings_win() -> None:
    settings = producer_settings(read(bootstrap_servers="k:1", kafka={"compression.type": "lz4"}))
    assert settings["enable.idempotence"] is True
    assert settings["partitioner"] == "murmur2_random"
    assert settings["delivery.timeout.ms"] == 30_000
    assert settings["compression.type"] == "lz4"
    assert producer_settings(read())["compression.type"] == "zstd"


callback_calls: list[str] = []


def token(config: str) -> tuple[str, float]:
    callback_calls.append(config)
    return "token", 4_000_000_000.0


def test_a_token_callback_is_called() -> None:
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.config": "region=x",
    }
    broker = KafkaBroker(read(bootstrap_servers="127.0.0.1:1", kafka=login, oauth_callback=f"{__name__}:token"))
    for _ in range(20):
        broker.poll(0.1)
        if callback_calls:
            break
    assert callback_calls == ["region=x"]


@pytest.mark.parametrize("path", ["nowhere:f", "os:nothing", "os", "os:sep"])
def test_a_callback_that_is_not_a_function(path: str) -> None:
    with pytest.raises(ValueError, match="oauth_callback"):
        import_callback(path)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ('{"sasl.password": "hunter2"', "line 1 column 28"),
        ("sasl.password=hunter2,acks=all", "line 1 column 1"),
        ('"hunter2"', "must be an object"),
    ],
)
@pytest.mark.parametrize("more", [{}, {"HEADWATER_KAFKA_SASL_PASSWORD": "hunter2"}])
def test_a_malformed_mapping_is_logged_without_its_value(
    value: str, place: str, more: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for key, text in ({"HEADWATER_EMITTER_KAFKA": value} | more).items():
        monkeypatch.setenv(key, text)
    config = HeadwaterConfig.from_dict({})
    assert config.kafka == ({"sasl.password": "hunter2"} if more else {})
    assert "hunter2" not in caplog.text + repr(config)
    assert "kafka: " in caplog.text
    assert place in caplog.text
