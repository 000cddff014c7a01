"""A client of Confluent's schema registry: schemas by their ids (specification 15).

The schema of an id never changes, so every schema is requested once. An unknown id is requested again only after a minute,
and a registry that does not answer only after a second, so that a task with ten thousand messages does not wait ten thousand
times.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from .errors import ConfigError, EventRejected, ServerUnavailable

TIMEOUT = 5.0
"""Seconds to wait for a response."""

AWAY, UNKNOWN = 1.0, 60.0
"""Seconds until a registry that did not answer is tried again, and until an unknown id is requested again."""

MAX_RESPONSE = 16_000_000
"""Maximum size of a response in bytes."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A registered schema; ``kind`` is AVRO, JSON or PROTOBUF, ``text`` the schema itself."""

    kind: str
    text: str


class Schemas(Protocol):
    """A source of schemas by id."""

    def schema(self, number: int) -> RegisteredSchema:
        """Return the schema of an id; raises EventRejected (``unknown_schema``), ServerUnavailable without an answer."""
        ...


class NoRegistry:
    """The schemas of a process without a configured registry: every id is unknown."""

    def schema(self, number: int) -> RegisteredSchema:
        raise EventRejected("unknown_schema", f"no schema registry is set to resolve the schema id {number}")


NO_REGISTRY: Final = NoRegistry()


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """Settings of a registry: comma-separated addresses, the account, and the PEM file of the trusted authorities."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses, tried in their order until one answers."""
        return tuple(part.strip().rstrip("/") for part in self.url.split(",") if part.strip())


class HttpSchemas:
    """A registry over HTTP, ``GET /schemas/ids/N``; raises ConfigError for an invalid address or a missing file."""

    def __init__(self, settings: RegistrySettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._known: dict[int, RegisteredSchema] = {}
        self._unknown: dict[int, float] = {}
        self._away: tuple[float, ServerUnavailable] | None = None
        self._context = _trust(settings.ca)
        for address in settings.addresses:
            _check(address)

    def schema(self, number: int) -> RegisteredSchema:
        if number not in self._known:
            if self._unknown.get(number, 0.0) > self._clock():
                raise _unknown(number)
            self._known[number] = self._requested(number)
        return self._known[number]

    def subjects(self) -> int:
        """Return the number of subjects; raises ServerUnavailable if the registry does not answer."""
        subjects = self._get("/subjects")
        return len(subjects) if isinstance(subjects, list) else 0

    def _requested(self, number: int) -> RegisteredSchema:
        if self._away is not None and self._away[0] > self._clock():
            raise self._away[1]
        try:
            found = self._get(f"/schemas/ids/{number}")
            if found is not None and not (isinstance(found, dict) and isinstance(found.get("schema"), str)):
                raise self._unavailable("it answers, but not as a schema registry does")
        except ServerUnavailable as fault:
            self._away = (self._clock() + AWAY, fault)
            raise
        if found is None:
            self._unknown[number] = self._clock() + UNKNOWN
            raise _unknown(number)
        return RegisteredSchema(str(found.get("schemaType") or "AVRO"), found["schema"])

    def _get(self, path: str) -> Any:
        """Return the response of the first address that answers, as JSON; None for an unknown id."""
        fault: Exception | None = None
        for address in self._settings.addresses:
            try:
                return self._fetch(address + path)
            except (OSError, ValueError) as failed:
                fault = failed
        raise self._unavailable(_reason(fault)) from fault

    def _unavailable(self, hint: str) -> ServerUnavailable:
        return ServerUnavailable("the schema registry", self._settings.url, hint)

    def _fetch(self, url: str) -> Any:
        request = urllib.request.Request(url, headers=self._headers())  # noqa: S310 - the schemes are checked
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT, context=self._context) as response:  # noqa: S310
                return json.loads(response.read(MAX_RESPONSE))
        except urllib.error.HTTPError as fault:
            with fault:
                if fault.code == 404 and _is_registry_error(fault.read(MAX_RESPONSE)):
                    return None
            raise

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if self._settings.user is not None:
            account = f"{self._settings.user}:{self._settings.password or ''}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(account).decode()}"
        return headers


@cache
def schemas_of(settings: RegistrySettings) -> HttpSchemas:
    """Return the registry of these settings; the process has one, so that it requests every id once."""
    return HttpSchemas(settings)


def _check(address: str) -> None:
    if not address.startswith(("http://", "https://")):
        raise ConfigError(f"HEADWATER_SCHEMA_REGISTRY_URL must begin with http:// or https://, not {address!r}")
    if "@" in urlsplit(address).netloc:
        # Messages show the address, so it must not contain a password; neither does this message.
        raise ConfigError("HEADWATER_SCHEMA_REGISTRY_URL contains an account: set _USER and _PASSWORD instead")


def _unknown(number: int) -> EventRejected:
    return EventRejected("unknown_schema", f"the registry knows no schema id {number}")


def _is_registry_error(response: bytes) -> bool:
    """Return whether a 404 is a registry's (``error_code`` 40403), not that of a proxy or of a wrong path."""
    try:
        error = json.loads(response)
    except ValueError:
        return False
    return isinstance(error, dict) and "error_code" in error


def _trust(ca: str | None) -> ssl.SSLContext | None:
    if ca is None:
        return None
    if not Path(ca).is_file():
        raise ConfigError(f"HEADWATER_SCHEMA_REGISTRY_CA: the file {ca} does not exist")
    return ssl.create_default_context(cafile=ca)


def _reason(fault: Exception | None) -> str:
    if isinstance(fault, urllib.error.HTTPError):
        if fault.code in (401, 403):
            return f"it refuses HEADWATER_SCHEMA_REGISTRY_USER and _PASSWORD (HTTP {fault.code})"
        return f"it answers HTTP {fault.code}: check the path of HEADWATER_SCHEMA_REGISTRY_URL"
    return str(fault)
