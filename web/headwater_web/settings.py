"""How the server listens and whom it lets in: ``HEADWATER_WEB_*``."""

from __future__ import annotations

import ipaddress

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from headwater_avro.errors import ConfigError

MEGABYTE = 1_000_000


class WebSettings(BaseSettings):
    """Address, tokens, limits; without a token the server listens on loopback alone.

    ``cors_origins`` are the origins whose pages may ask (none by default); with a ``cypher_timeout`` of 0 nobody asks in free
    Cypher. Sizes are in bytes, times in seconds.
    """

    model_config = SettingsConfigDict(env_prefix="HEADWATER_WEB_", env_ignore_empty=True, extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65_535)
    tokens: tuple[SecretStr, ...] = ()
    cors_origins: tuple[str, ...] = ()
    max_body: int = Field(default=16 * MEGABYTE, gt=0)
    max_batch: int = Field(default=10_000, gt=0)
    max_depth: int = Field(default=100, gt=0)
    max_nodes: int = Field(default=20_000, gt=0)
    cypher_timeout: float = Field(default=30.0, ge=0, le=3_600)
    cypher_rows: int = Field(default=10_000, gt=0)
    ingest_in_flight: int = Field(default=20_000, gt=0)
    ingest_patience: float = Field(default=30.0, gt=0, le=600)


def web_settings(**given: object) -> WebSettings:
    """Read the settings; raises ConfigError that names every fault, and where strangers would be let in."""
    try:
        settings = WebSettings(**given)  # type: ignore[arg-type]
    except ValidationError as faults:
        told = (
            f"HEADWATER_WEB_{'_'.join(map(str, fault['loc'])).upper()}: {fault['msg']}" for fault in faults.errors()
        )
        raise ConfigError("\n".join(told)) from None
    if not settings.tokens and not is_loopback(settings.host):
        raise ConfigError(f"HEADWATER_WEB_TOKENS: {settings.host} is not loopback, so set at least one token")
    return settings


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
