"""What to do about a Kafka that answers and refuses the connection: from the errors of librdkafka, for all its clients.

A client that waits for Kafka gets a time-out, whose text does not say why. The reason comes separately, as an error of the
connection (librdkafka's ``error_cb``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ACCOUNT = "set HEADWATER_KAFKA_SASL_USERNAME, _PASSWORD and _MECHANISM to an account of this Kafka"
_AUTHORITY = "set HEADWATER_KAFKA_SSL_CA to a PEM file with the authority that signed its certificate"
_HINTS = (
    # The part of librdkafka's text, and what is to be done. The first that applies is taken.
    ("certificate verify failed", f"its certificate is not trusted: {_AUTHORITY}"),
    ("hostname mismatch", "its certificate has another host name: use that name in the address"),
    ("PLAINTEXT broker listener", "it does not use TLS here: set HEADWATER_KAFKA_SECURITY_PROTOCOL without SSL"),
    ("wrong version number", "it does not use TLS here: set HEADWATER_KAFKA_SECURITY_PROTOCOL without SSL"),
    ("alert", "it requires a certificate of an authority it trusts: set HEADWATER_KAFKA_SSL_KEYSTORE"),
    ("SSL listener", "it uses TLS or SASL here: set HEADWATER_KAFKA_SECURITY_PROTOCOL to SSL or SASL_SSL"),
)
_CLOSED = (
    "it closes the connection without an answer; if it uses TLS or SASL here, set HEADWATER_KAFKA_SECURITY_PROTOCOL to SSL or "
    "SASL_SSL"
)
_AWAY = ("_TRANSPORT", "_RESOLVE", "_TIMED_OUT")
_OF_ACCOUNT = ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM")
MOST_CHARACTERS = 300


def refusal_hint(name: str, text: str) -> str | None:
    """Return why Kafka refuses a connection and what to do, None for another error.

    ``name`` and ``text`` are those of a ``KafkaError``.
    """
    if name in _OF_ACCOUNT:
        return f"it refuses the account: {_ACCOUNT} ({_short(text)})"
    for part, hint in _HINTS:
        if part in text:
            return f"{hint} ({_short(text)})"
    return None


class Refusals:
    """Collects the errors of a connection: pass ``heard`` as ``error_cb``; ``hint`` is the last one that says what to do.

    It is meant for connections on which Kafka has not answered yet.
    """

    def __init__(self, then: Callable[[str], None] = lambda _: None) -> None:
        self.hint: str | None = None
        self._then = then
        self._is_away = False

    def heard(self, error: Any) -> None:
        """Take an error of the client; ``then`` is called with each hint."""
        name = error.name()
        self._is_away = self._is_away or name in _AWAY
        found = refusal_hint(name, error.str())
        if found is None and name == "_ALL_BROKERS_DOWN" and not self._is_away and self.hint is None:
            # A server that expects TLS closes the connection of a client without it, and librdkafka has no error for that.
            found = _CLOSED
        if found is not None:
            self.hint = found
            self._then(found)


def _short(text: str) -> str:
    # librdkafka begins with the address, which the message that contains this has already, and ends with the time.
    _, separator, rest = text.partition(": ")
    return (rest if separator else text)[:MOST_CHARACTERS]
