"""``spark.openlineage.transport.*`` as a transport configuration of openlineage-python, or of headwater for Kafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from .configuration import OfficialConfiguration

KAFKA = "headwater.transport.HeadwaterTransport"

Transport = dict[str, Any]


class NotObeyed(ValueError):
    """The reason why a transport is not made as the configuration says."""


def transport_of(official: OfficialConfiguration) -> Transport | None:
    """Return the configured transport; None where there is none, or where it is reported as not obeyed."""
    if not any(name.startswith("transport.") for name in official.entries):
        return None
    try:
        return _transport(official, "transport.")
    except NotObeyed as fault:
        official.under("transport.")
        official.refuse("transport.type", str(fault))
        return None


def _transport(official: OfficialConfiguration, prefix: str) -> Transport:
    kind = official.text(f"{prefix}type")
    if kind is None:
        raise NotObeyed("is missing")
    make = _TRANSPORTS.get(kind)
    if make is None:
        raise NotObeyed(f"{kind} is not supported: {', '.join(sorted(_TRANSPORTS))} are")
    for harmless in ("name", "priority"):
        official.text(prefix + harmless)
    return make(official, prefix)


def _console(_official: OfficialConfiguration, _prefix: str) -> Transport:
    return {"type": "console"}


def _noop(_official: OfficialConfiguration, _prefix: str) -> Transport:
    return {"type": "noop"}


def _file(official: OfficialConfiguration, prefix: str) -> Transport:
    location = official.text(f"{prefix}location")
    if location is None:
        raise NotObeyed("file needs transport.location")
    return {"type": "file", "log_file_path": location, "append": True}


def _composite(official: OfficialConfiguration, prefix: str) -> Transport:
    below = f"{prefix}transports."
    names = dict.fromkeys(
        key.removeprefix(below).partition(".")[0] for key in official.entries if key.startswith(below)
    )
    if not names:
        raise NotObeyed("composite needs transport.transports.<name>.type")
    official.text(f"{prefix}withThreadPool")  # the thread of the emitter sends, not a thread of the job
    return {
        "type": "composite",
        "transports": {name: _transport(official, f"{below}{name}.") for name in sorted(names)},
        "continue_on_failure": official.flag(f"{prefix}continueOnFailure", True),
    }


def _http(official: OfficialConfiguration, prefix: str) -> Transport:
    url = official.text(f"{prefix}url")
    if url is None:
        raise NotObeyed("http needs transport.url")
    address = urlsplit(url)
    query = dict(parse_qsl(address.query))
    key, milliseconds, _ = (query.pop(name, None) for name in ("api_key", "timeout", "app_name"))
    endpoint = official.text(f"{prefix}endpoint") or address.path.partition("/namespaces/")[0].rstrip("/")
    parameters = {**query, **official.under(f"{prefix}urlParams.")}
    made: Transport = {
        "type": "http",
        "url": f"{address.scheme}://{address.netloc}",
        "endpoint": (endpoint if endpoint.strip("/") not in ("", "api/v1") else "/api/v1/lineage")
        + (f"?{urlencode(parameters)}" if parameters else ""),
        "custom_headers": official.under(f"{prefix}headers."),
    }
    seconds = _seconds(official, prefix, milliseconds)
    optional = {
        "timeout": seconds,
        "compression": official.text(f"{prefix}compression"),
        "auth": official.under(f"{prefix}auth.") or ({"type": "api_key", "apiKey": key} if key else None),
        "sslContext": _paths(official, f"{prefix}sslContext."),
    }
    return made | {name: value for name, value in optional.items() if value}


def _seconds(official: OfficialConfiguration, prefix: str, given: str | None) -> float | None:
    name = next((n for n in ("timeoutInMillis", "timeout") if f"{prefix}{n}" in official.entries), None)
    text = given if name is None else official.text(prefix + name)
    if text is None:
        return None
    try:
        return float(text) / 1000
    except ValueError:
        official.refuse(f"{prefix}{name or 'url'}", "its timeout must be a number of milliseconds")
        return None


def _paths(official: OfficialConfiguration, prefix: str) -> dict[str, str]:
    """Return the PEM files of ``sslContext``; Java's key stores are not read."""
    names = ("caCertPath", "clientCertPath", "clientKeyPath")
    return {name: text for name in names if (text := official.text(prefix + name)) is not None}


def _kafka(official: OfficialConfiguration, prefix: str) -> Transport:
    """Return headwater's own transport to Kafka, with the producer's properties under librdkafka's names."""
    properties: dict[str, str] = {}
    below = f"{prefix}properties."
    for key in [name for name in official.entries if name.startswith(below)]:
        name = key.removeprefix(below)
        found = _property(name, official.entries[key])
        if found is not None:
            official.text(key)
            properties |= found
    made: Transport = {"type": KAFKA}
    topic, servers = official.text(f"{prefix}topicName"), properties.pop("bootstrap.servers", None)
    given = {"topic": topic, "bootstrap_servers": servers, "kafka": properties}
    return made | {name: value for name, value in given.items() if value}


def _property(name: str, value: str) -> Mapping[str, str] | None:
    """Return librdkafka's settings for a property of Java's producer; None where it has no such setting."""
    if name in _OF_JAVA_ALONE:
        return {}
    if name == "sasl.jaas.config":
        return _login(value)
    if name == "ssl.endpoint.identification.algorithm":
        return {name: value or "none"}
    renamed = _RENAMED.get(name, name)
    return {renamed: value} if name in _RENAMED or name in _SHARED else None


def _login(jaas: str) -> dict[str, str] | None:
    """Return the user and password of a login module for PLAIN or SCRAM."""
    found = dict(re.findall(r"\b(username|password)\s*=\s*\"((?:[^\"\\]|\\.)*)\"", jaas))
    if len(found) != 2:
        return None
    return {f"sasl.{name}": re.sub(r"\\(.)", r"\1", text) for name, text in found.items()}


_TRANSPORTS = {
    "kafka": _kafka,
    "http": _http,
    "file": _file,
    "console": _console,
    "composite": _composite,
    "noop": _noop,
}

# What librdkafka does without a setting: texts are sent as they are, and nothing waits for a full buffer.
_OF_JAVA_ALONE = frozenset({"key.serializer", "value.serializer", "buffer.memory", "max.block.ms"})
_RENAMED = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
# Properties of Java's producer that librdkafka has under the same name.
_SHARED = frozenset(
    {
        "acks", "batch.size", "bootstrap.servers", "client.dns.lookup", "client.id", "client.rack", "compression.type",
        "connections.max.idle.ms", "delivery.timeout.ms", "enable.idempotence", "linger.ms",
        "max.in.flight.requests.per.connection", "metadata.max.age.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
        "request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms", "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.service.name", "sasl.mechanism", "sasl.oauthbearer.token.endpoint.url", "security.protocol",
        "socket.connection.setup.timeout.ms", "ssl.cipher.suites", "ssl.key.password", "transaction.timeout.ms",
    }
)  # fmt: skip
