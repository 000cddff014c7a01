"""Settings of the server: ``HEADWATER_WEB_*``."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, IPvAnyNetwork, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from headwater_avro.errors import ConfigError

MEGABYTE = 1_000_000
LEAST_CHARACTERS = 500
"""The smallest limit of an answer to an agent."""


def _token(value: SecretStr) -> SecretStr:
    # An empty or blank token would admit every request; a token with spaces or beyond ASCII cannot be sent.
    if re.fullmatch(r"[!-~]+", value.get_secret_value()) is None:
        raise ValueError("a token is one or more visible ASCII characters without spaces")
    return value


def _host_name(value: str) -> str:
    if re.fullmatch(r"[0-9A-Za-z._-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?", value) is None:
        raise ValueError("a host is a name or an address, without scheme, port and path")
    return value.strip("[]").lower()


def _header(value: str) -> str:
    if re.fullmatch(r"[0-9A-Za-z-]+", value) is None or value.lower() in ("authorization", "cookie", "host", "origin"):
        raise ValueError("the name of a header with which a proxy names the user, as X-Forwarded-User")
    return value


def _characters(value: int) -> int:
    if 0 < value < LEAST_CHARACTERS:
        raise ValueError(f"0, or at least {LEAST_CHARACTERS} characters: less holds no answer")
    return value


Header: TypeAlias = Annotated[str, AfterValidator(_header)]
Token: TypeAlias = Annotated[SecretStr, AfterValidator(_token)]
HostName: TypeAlias = Annotated[str, AfterValidator(_host_name)]


class WebSettings(BaseSettings):
    """Address, tokens and limits; without a token the server listens on loopback only.

    ``cors_origins`` are the origins whose pages may send requests (none by default); ``allowed_hosts`` are names beside those of
    loopback under which a server without tokens responds; ``trusted_proxies`` are the addresses whose ``trusted_header`` names
    the user; ``operator_tokens`` and ``operator_users`` may also send dead letters back; ``tokens_file`` has hashed tokens with
    names and scopes, and replicas with the same ``session_key`` share the sessions of those; events for Kafka are signed with the
    key in ``signing_key_file``; ``failures_per_minute`` limits the wrong tokens of an address; a ``cypher_timeout`` of 0 disables
    free Cypher, as does its absence beyond loopback, ``mcp_characters`` of 0 the tools of agents. Sizes are in bytes, times in
    seconds unless the name says otherwise.
    """

    model_config = SettingsConfigDict(env_prefix="HEADWATER_WEB_", env_ignore_empty=True, extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65_535)
    tokens: tuple[Token, ...] = ()
    operator_tokens: tuple[Token, ...] = ()
    tokens_file: Path | None = None
    session_key: Annotated[SecretStr, Field(min_length=16)] | None = None
    failures_per_minute: int = Field(default=20, ge=0)
    operator_users: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    allowed_hosts: tuple[HostName, ...] = ()
    cors_origins: tuple[str, ...] = ()
    session_hours: float = Field(default=12.0, gt=0, le=8_760)
    trusted_header: Header | None = None
    trusted_proxies: tuple[IPvAnyNetwork, ...] = ()
    streams: int = Field(default=100, gt=0)
    max_body: int = Field(default=16 * MEGABYTE, gt=0)
    max_batch: int = Field(default=10_000, gt=0)
    max_depth: int = Field(default=100, gt=0)
    max_nodes: int = Field(default=20_000, gt=0)
    cypher_timeout: float = Field(default=30.0, ge=0, le=3_600)
    cypher_rows: int = Field(default=10_000, gt=0)
    cypher_bytes: int = Field(default=16 * MEGABYTE, gt=0)
    mcp_characters: Annotated[int, AfterValidator(_characters)] = Field(default=12_000, ge=0)
    receive_timeout: float = Field(default=30.0, gt=0, le=600)
    ingest_requests: int = Field(default=200, gt=0)
    ingest_bytes: int = Field(default=64 * MEGABYTE, gt=0)
    ingest_in_flight: int = Field(default=20_000, gt=0)
    signing_key_file: Path | None = None
    ingest_patience: float = Field(default=30.0, gt=0, le=600)


def web_settings(**given: object) -> WebSettings:
    """Return the settings; raises ConfigError for all faults at once, and for a public address without tokens."""
    try:
        settings = WebSettings(**given)  # type: ignore[arg-type]
    except ValidationError as faults:
        raise ConfigError(
            "\n".join(f"{_setting(*fault['loc'])}: {fault['msg']}" for fault in faults.errors())
        ) from None
    except SettingsError as fault:
        raise ConfigError(f'HEADWATER_WEB_*: {fault}: a list is written as JSON, ["a", "b"]') from None
    if settings.trusted_header is not None and not settings.trusted_proxies:
        raise ConfigError(
            "HEADWATER_WEB_TRUSTED_HEADER: set HEADWATER_WEB_TRUSTED_PROXIES to the addresses of the proxies that set it"
        )
    if settings.operator_users and settings.trusted_header is None:
        raise ConfigError("HEADWATER_WEB_OPERATOR_USERS: set HEADWATER_WEB_TRUSTED_HEADER: it names the users")
    has_tokens = settings.tokens or settings.operator_tokens or settings.tokens_file
    if not has_tokens and settings.trusted_header is None and not is_loopback(settings.host):
        raise ConfigError(f"HEADWATER_WEB_TOKENS: {settings.host} is not a loopback address: set at least one token")
    if not is_loopback(settings.host) and "cypher_timeout" not in settings.model_fields_set:
        # A single query can use a great part of Neo4j's memory, so beyond this machine somebody must ask for it.
        return settings.model_copy(update={"cypher_timeout": 0.0})
    return settings


def _setting(name: int | str, *item: int | str) -> str:
    numbers = "".join(f", item {int(number) + 1}" for number in item)
    return f"HEADWATER_WEB_{str(name).upper()}{numbers}"


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
