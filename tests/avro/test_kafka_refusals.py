"""Errors of librdkafka's connections, and what each says is to be done."""

from __future__ import annotations

import pytest

from headwater_avro.kafka_refusals import Refusals, refusal_hint

VERIFY = "ssl://k:1/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker (after 8ms)"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("_AUTHENTICATION", "sasl_ssl://k:1/bootstrap: SASL authentication error: no", "_SASL_USERNAME"),
        ("UNSUPPORTED_SASL_MECHANISM", "no", "_MECHANISM"),
        ("_SSL", VERIFY, "HEADWATER_KAFKA_SSL_CA"),
        ("_SSL", "ssl://k:1: SSL routines::tlsv13 alert certificate required", "HEADWATER_KAFKA_SSL_KEYSTORE"),
        ("_SSL", "ssl://k:1: Disconnected: connecting to a PLAINTEXT broker listener?", "without SSL"),
        ("_TRANSPORT", "k:1: Disconnected (connecting to a SSL listener?)", "SASL_SSL"),
    ],
)
def test_each_refusal_says_which_setting_to_change(name: str, text: str, expected: str) -> None:
    hint = refusal_hint(name, text)
    assert hint is not None
    assert expected in hint
    assert "bootstrap:" not in hint


@pytest.mark.parametrize("name", ["_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE"])
def test_a_broker_that_is_away_refuses_nothing(name: str) -> None:
    assert refusal_hint(name, "k:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused") is None


class Error:
    """An error as the client passes it to ``error_cb``."""

    def __init__(self, name: str, text: str = "") -> None:
        self._name, self._text = name, text

    def name(self) -> str:
        return self._name

    def str(self) -> str:
        return self._text


def hint_of(*names: str) -> str | None:
    refusals = Refusals()
    for name in names:
        refusals.heard(Error(name, "k:1: Connect failed"))
    return refusals.hint


def test_connections_that_are_closed_without_any_error_may_need_tls() -> None:
    assert "set HEADWATER_KAFKA_SECURITY_PROTOCOL" in str(hint_of("_ALL_BROKERS_DOWN"))


@pytest.mark.parametrize("name", ["_TRANSPORT", "_RESOLVE", "_TIMED_OUT"])
def test_brokers_that_cannot_be_reached_need_no_other_setting(name: str) -> None:
    assert hint_of(name, "_ALL_BROKERS_DOWN") is None
