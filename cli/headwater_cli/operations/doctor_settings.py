"""The settings of the emitter and of the HTTP server as ``headwater doctor`` shows them, with their origins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pydantic import SecretStr

from headwater.transport.default import Choice, choose
from headwater.transport.redaction import Redaction
from headwater.transport.settings import HeadwaterConfig, origins_of, read_settings
from headwater_avro.errors import ConfigError
from headwater_consumer.config import HIDDEN, PREFIX, Setting


@dataclass(frozen=True, slots=True)
class Part:
    """The settings of a part of headwater, what the part does with them, and their faults."""

    title: str
    settings: tuple[Setting, ...]
    status: str = ""
    faults: str = ""


def emitter_part() -> Part:
    """Return the settings with which an emitter would run in this folder and environment."""
    choice = choose(os.environ)
    config, faults = read_settings(choice.settings, os.environ)
    origins = origins_of(choice.settings, os.environ)
    settings = tuple(
        Setting(f"emitter_{field.name}", _emitter_value(config, field.name), origins[field.name], "see docs/emitter.md")
        for field in fields(HeadwaterConfig)
    )
    wrong = f"defaults replace wrong settings: {'; '.join(faults)}" if faults else ""
    return Part("emitter", settings, _events_go(choice, config), wrong)


def _emitter_value(config: HeadwaterConfig, name: str) -> object:
    value = getattr(config, name)
    if name == "redact_patterns":
        # A pattern may be the very secret that it finds.
        return HIDDEN if value else None
    return dict(value) if isinstance(value, Mapping) else value


def _events_go(choice: Choice, config: HeadwaterConfig) -> str:
    if choice.kind == "off":
        return "lineage is off (OPENLINEAGE_DISABLED)"
    if choice.kind == "other":
        return f"events are sent by openlineage-python's transport {choice.name}; only limits of the queue apply to it"
    servers = config.bootstrap_servers or config.kafka.get("bootstrap.servers")
    if not servers:
        return f"no address of Kafka is set: events are stored in {config.spool_dir}"
    return f"events are sent to the topic {config.topic} at {servers}"


def web_part() -> Part | None:
    """Return the settings of ``headwater serve``; None if its extra is not installed."""
    try:
        from headwater_web.settings import WebSettings, web_settings
    except ModuleNotFoundError:
        return None
    try:
        found = web_settings()
    except ConfigError as fault:
        return Part("HTTP server", (), faults=str(fault))
    settings = tuple(
        Setting(f"web_{name}", _web_value(getattr(found, name)), _web_origin(name), "see docs/ask.md")
        for name in WebSettings.model_fields
    )
    return Part("HTTP server", settings)


def _web_value(value: Any) -> object:
    if not isinstance(value, tuple):
        return value
    return HIDDEN if any(isinstance(item, SecretStr) for item in value) else list(value)


def _web_origin(name: str) -> str:
    return "environment" if os.environ.get(f"{PREFIX}WEB_{name.upper()}") else "default"


def redacted(settings: tuple[Setting, ...]) -> Iterator[Setting]:
    """Yield settings without the secrets in addresses, and in settings that are passed on to Spark and to Kafka's client."""
    redaction = Redaction()
    for setting in settings:
        yield replace(setting, value=_without_secrets(redaction, setting.value))


def _without_secrets(redaction: Redaction, value: object) -> object:
    match value:
        case dict():
            return redaction.redact(value)[0]
        case str():
            return redaction.text(value)
        case list():
            return [_without_secrets(redaction, item) for item in value]
        case _:
            return value
