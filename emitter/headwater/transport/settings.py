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
from typing import Any, TypeAlias

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
    signing_key_file: str = ""
    """A file with the key with which messages are signed (``headwater keys new``); if empty, they are not signed."""
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
            # Not the value itself: faults are logged, and any value may be a password that was given to the wrong setting.
            faults.append(f"{name}: {fault}")
    if "kafka" not in given and (security := _security({key: value for key, value in environ.items() if value})):
        values["kafka"] = security | dict(values.get("kafka", {}))
    config = HeadwaterConfig(**values)
    if not config.spool_dir:
        config = replace(config, spool_dir=str(home(environ) / "spool"))
    return config, faults


def origins_of(params: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Return where ``read_settings`` takes each setting from."""
    given = {"kafka" if key.lower() == "config" else key.lower() for key, value in params.items() if value is not None}
    return {
        f.name: "openlineage-python" if f.name in given else _origin(f.name, environ) for f in fields(HeadwaterConfig)
    }


def _origin(name: str, environ: Mapping[str, str]) -> str:
    if environ.get(EMITTER_PREFIX + name.upper()):
        return "environment"
    shared = {"bootstrap_servers", "topic"} & {name}
    variables = [KAFKA_PREFIX + one.upper() for one in shared]
    variables += ["HEADWATER_HOME"] if name == "spool_dir" else []
    variables += [key for key in environ if key.startswith(_SECURITY)] if name == "kafka" else []
    used = [key for key in variables if environ.get(key)]
    return f"environment: {', '.join(sorted(used))}" if used else "default"


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


def _security(environ: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings: ``HEADWATER_KAFKA_SASL_MECHANISM`` is ``sasl.mechanism``; also the consumer's names."""
    security: dict[str, str] = {}
    for key, value in environ.items():
        if key.startswith(_SECURITY):
            name = key.removeprefix(KAFKA_PREFIX).lower().replace("_", ".")
            security |= dict.fromkeys(_FILES.get(name, (name,)), value)
    return security


_SECURITY = tuple(KAFKA_PREFIX + part for part in ("SECURITY_", "SASL_", "SSL_"))
"""What the variables begin with that are settings of librdkafka."""
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
    return int(_number(int, value, 1, float("inf"), "must be a whole number, 1 or more"))


def _schema_id(value: Any) -> int:
    return int(_number(int, value, 0, (1 << 31) - 1, "must be an id of a schema registry, or 0"))


def _seconds(value: Any) -> float:
    return _number(float, value, 0, 86_400, "must be from 0 to 86400 seconds")


def _number(kind: type[int] | type[float], value: Any, least: float, most: float, expected: str) -> float:
    try:
        number = kind(value)
    except (TypeError, ValueError):
        raise ValueError(expected) from None
    if not least <= number <= most:
        raise ValueError(expected)
    return number


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


_Readers: TypeAlias = dict[str, Callable[[Any], Any]]
_BY_TYPE: _Readers = {
    "str": _text,
    "int": _count,
    "float": _seconds,
    "bool": _flag,
    "Mapping[str, Any]": _mapping,
    "tuple[str, ...]": _patterns,
}
_BY_NAME: _Readers = {"format": _format, "schema_id": _schema_id}
_READERS: _Readers = {f.name: _BY_NAME.get(f.name) or _BY_TYPE[str(f.type)] for f in fields(HeadwaterConfig)}
