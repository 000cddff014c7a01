"""The transport's settings: plain values, from openlineage-python's configuration or from the environment.

A job must not fail because a lineage setting is wrong: a wrong value is replaced by its default and all faults are
logged in one line (``read_settings`` returns them with the settings).
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from openlineage.client.transport.transport import Config

logger = logging.getLogger("headwater.transport")

KAFKA_PREFIX = "HEADWATER_KAFKA_"
EMITTER_PREFIX = "HEADWATER_EMITTER_"


@dataclass(frozen=True, slots=True)
class HeadwaterConfig(Config):
    """Settings of ``HeadwaterTransport``; times in seconds, sizes in bytes.

    As openlineage-python reads them: ``OPENLINEAGE__TRANSPORT__<FIELD>``, or the same keys in its YAML file. A field
    that is not given there is read from ``HEADWATER_KAFKA_BOOTSTRAP_SERVERS``, ``HEADWATER_KAFKA_TOPIC`` and
    ``HEADWATER_EMITTER_<FIELD>``, else it has the default below.
    """

    bootstrap_servers: str = ""
    """Kafka's addresses; if empty, events are stored in the spool until an emitter with addresses sends them."""
    topic: str = "lineage.events"
    format: str = "json"
    """``json`` (stock OpenLineage) or ``avro`` (the envelope; needs the extra ``avro``)."""
    schema_id: int = 0
    """The id under which a schema registry has the schema of what is sent (the envelope, or a JSON schema): messages are
    framed with it, as Confluent's serializers do. 0: no frame."""
    kafka: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Further settings of the Kafka client (librdkafka's names: ``security.protocol``, ``sasl.mechanism``, …), also
    read as ``config``, and from ``HEADWATER_KAFKA_SECURITY_PROTOCOL`` and the like. They take precedence over headwater's."""
    oauth_callback: str = ""
    """``package.module:function``, called with the ``sasl.oauthbearer.config`` text; it returns the token and when it
    expires, in seconds since 1970."""
    spool_dir: str = ""
    """The directory of undelivered events; default ``$HEADWATER_HOME/spool``, or in ``~/.local/share/headwater``."""
    spool_max_bytes: int = 256 * 1024 * 1024
    replay: bool = True
    """Whether this emitter sends the events in the spool."""
    replay_interval: float = 10.0
    queue_events: int = 10_000
    queue_bytes: int = 64 * 1024 * 1024
    """Limit on the estimated size of the queued events; checked when more than a few are queued."""
    max_event_bytes: int = 900_000
    """Larger events are reduced, in the order that ``docs/emitter.md`` describes."""
    running_interval: float = 10.0
    """Of the RUNNING events of a run without news, one per interval is sent; 0 sends all."""
    redact: bool = True
    redact_patterns: tuple[str, ...] = ()
    """Regular expressions; what they match (their first group, if they have one) is replaced by ``***``."""
    delivery_timeout: float = 30.0
    spool_after: float = 5.0
    """How long Kafka may not respond before waiting events are written to disk, and from then on each new one at once."""
    close_timeout: float = 5.0
    """The most that the interpreter's exit is delayed."""
    fork_wait: float = 2.0
    """How long the end of a forked child is delayed, at most, until Kafka has acknowledged its events."""
    sender_lifetime: float = 600.0
    """How long the process lives, at most, that sends what forked children could not deliver; 0: there is none."""

    @property
    def names_servers(self) -> bool:
        """Return whether there is an address to connect to."""
        return bool(self.bootstrap_servers or self.kafka.get("bootstrap.servers"))

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> HeadwaterConfig:
        """Return the settings that openlineage-python passes, with the environment for the others; never raises."""
        config, faults = read_settings(params, os.environ)
        if faults:
            logger.warning("wrong lineage settings are replaced by their defaults: %s", "; ".join(faults))
        return config


def read_settings(params: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[HeadwaterConfig, list[str]]:
    """Return the settings and all faults found in them; pure."""
    given = {key.lower(): value for key, value in params.items() if value is not None}
    if "config" in given:
        given["kafka"] = given.pop("config")
    merged = _from_environment(environ) | {k: v for k, v in given.items() if k != "type"}
    values: dict[str, Any] = {}
    faults = [f"unknown setting {key!r}" for key in sorted(merged.keys() - _READERS.keys())]
    for name, read in _READERS.items():
        if name not in merged:
            continue
        try:
            values[name] = read(merged[name])
        except (TypeError, ValueError) as fault:
            faults.append(_fault(name, merged[name], fault))
    if "kafka" not in given and (security := _security({key: value for key, value in environ.items() if value})):
        values["kafka"] = security | dict(values.get("kafka", {}))
    config = HeadwaterConfig(**values)
    if not config.spool_dir:
        config = replace(config, spool_dir=str(home(environ) / "spool"))
    return config, faults


def home(environ: Mapping[str, str]) -> Path:
    """Return the folder of headwater's files on this machine."""
    return Path(environ.get("HEADWATER_HOME") or "~/.local/share/headwater").expanduser()


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    non_empty = {key: value for key, value in environ.items() if value}
    values: dict[str, Any] = {
        key.removeprefix(EMITTER_PREFIX).lower(): value
        for key, value in non_empty.items()
        if key.startswith(EMITTER_PREFIX)
    }
    for name in ("bootstrap_servers", "topic"):
        if value := non_empty.get(KAFKA_PREFIX + name.upper()):
            values.setdefault(name, value)
    return values


def _fault(name: str, value: Any, fault: Exception) -> str:
    # Settings of the Kafka client contain passwords: of such a value only the place of the fault is logged.
    shown = "" if name in _MAY_HOLD_SECRETS else f"={value!r}"
    return f"{name}{shown}: {fault}"


def _security(environ: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings: ``HEADWATER_KAFKA_SASL_MECHANISM`` is ``sasl.mechanism``; also the consumer's names."""
    security: dict[str, str] = {}
    for key, value in environ.items():
        if key.startswith(tuple(KAFKA_PREFIX + part for part in ("SECURITY_", "SASL_", "SSL_"))):
            name = key.removeprefix(KAFKA_PREFIX).lower().replace("_", ".")
            security |= dict.fromkeys(_FILES.get(name, (name,)), value)
    return security


_FILES = {"ssl.ca": ("ssl.ca.location",), "ssl.keystore": ("ssl.certificate.location", "ssl.key.location")}


def _mapping(value: Any) -> dict[str, Any]:
    parsed = json.loads(value) if isinstance(value, str) else value
    if not isinstance(parsed, Mapping):
        raise ValueError("must be an object")
    return _flat(parsed)


def _flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    # OPENLINEAGE__TRANSPORT__KAFKA__SASL__MECHANISM comes as {"sasl": {"mechanism": …}}; librdkafka expects dots.
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
    return flat


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).strip()


def _format(value: Any) -> str:
    if value not in ("json", "avro"):
        raise ValueError("must be json or avro")
    return str(value)


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false", "1", "0", "yes", "no"):
        raise ValueError("must be true or false")
    return text in ("true", "1", "yes")


def _count(value: Any) -> int:
    if int(value) < 1:
        raise ValueError("must be 1 or more")
    return int(value)


def _schema_id(value: Any) -> int:
    if not 0 <= int(value) < 1 << 31:
        raise ValueError("must be an id of a schema registry, or 0")
    return int(value)


def _seconds(value: Any) -> float:
    if not 0 <= float(value) <= 86_400:
        raise ValueError("must be from 0 to 86400 seconds")
    return float(value)


def _patterns(value: Any) -> tuple[str, ...]:
    import re

    parsed = json.loads(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    patterns = (parsed,) if isinstance(parsed, str) else tuple(parsed)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as fault:
            raise ValueError(str(fault)) from fault
    return patterns


_BY_TYPE: dict[str, Callable[[Any], Any]] = {
    "str": _text,
    "int": _count,
    "float": _seconds,
    "bool": _flag,
    "Mapping[str, Any]": _mapping,
    "tuple[str, ...]": _patterns,
}
_BY_NAME: dict[str, Callable[[Any], Any]] = {"format": _format, "schema_id": _schema_id}
_MAY_HOLD_SECRETS = frozenset({"kafka", "redact_patterns"})
_READERS: dict[str, Callable[[Any], Any]] = {
    f.name: _BY_NAME.get(f.name) or _BY_TYPE[str(f.type)] for f in fields(HeadwaterConfig)
}
