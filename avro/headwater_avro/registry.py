"""Confluent's schema registry: what stands behind the four bytes of an id (specification 15).

The port is one question, `Schemas.schema`. A schema never changes under its id, so what was answered once is kept; an id
that the registry doesn't know is asked for again only after a while, and a registry that is away is left alone for a
moment, so that a task with ten thousand messages doesn't wait ten thousand times.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from .errors import ConfigError, EventRejected, ServerUnavailable

TIMEOUT = 5.0
"""Seconds for an answer."""

AWAY, UNKNOWN = 1.0, 60.0
"""Seconds for which a registry that did not answer is not asked, and an id that it didn't know is not asked for."""

MAX_ANSWER = 16_000_000
"""Bytes of an answer at most."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as it was registered; ``kind`` is AVRO, JSON or PROTOBUF, ``text`` the schema itself."""

    kind: str
    text: str


class Schemas(Protocol):
    """Where schemas are found by their ids."""

    def schema(self, number: int) -> RegisteredSchema:
        """Return the schema of an id; raises EventRejected (``unknown_schema``), ServerUnavailable while it can't tell."""
        ...


class NoRegistry:
    """What stands in where no registry is set: no id is known."""

    def schema(self, number: int) -> RegisteredSchema:
        raise EventRejected("unknown_schema", f"no registry is set to ask for schema id {number}")


NO_REGISTRY: Final = NoRegistry()


@dataclass
class KeptSchemas:
    """The fake: schemas in a dictionary, and a registry that can be away."""

    kept: Mapping[int, RegisteredSchema] = field(default_factory=dict)
    away: bool = False
    asked: list[int] = field(default_factory=list)

    def schema(self, number: int) -> RegisteredSchema:
        self.asked.append(number)
        if self.away:
            raise ServerUnavailable("the schema registry", "nowhere", "it is away")
        if number not in self.kept:
            raise _unknown(number)
        return self.kept[number]


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """Where a registry is: addresses with commas between them, the account, and the PEM file of authorities to trust."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses, asked in their order until one answers."""
        return tuple(part.strip().rstrip("/") for part in self.url.split(",") if part.strip())


class HttpSchemas:
    """A registry that is asked over HTTP, ``GET /schemas/ids/N``; ConfigError for an address or a file that is none."""

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
            self._known[number] = self._patient(number)
        return self._known[number]

    def subjects(self) -> int:
        """Return how many subjects there are, to see that the registry answers; raises ServerUnavailable."""
        told = self._ask("/subjects")
        return len(told) if isinstance(told, list) else 0

    def _patient(self, number: int) -> RegisteredSchema:
        if self._away is not None and self._away[0] > self._clock():
            raise self._away[1]
        try:
            return self._asked(number)
        except ServerUnavailable as fault:
            self._away = (self._clock() + AWAY, fault)
            raise

    def _asked(self, number: int) -> RegisteredSchema:
        told = self._ask(f"/schemas/ids/{number}")
        if told is None:
            self._unknown[number] = self._clock() + UNKNOWN
            raise _unknown(number)
        if not isinstance(told, dict) or not isinstance(told.get("schema"), str):
            raise ServerUnavailable("the schema registry", self._settings.url, "it answers, but not as a registry does")
        return RegisteredSchema(str(told.get("schemaType") or "AVRO"), told["schema"])

    def _ask(self, path: str) -> Any:
        """The answer as JSON, None for 404; of several addresses the first that answers."""
        fault: Exception | None = None
        for address in self._settings.addresses:
            try:
                return self._fetch(address + path)
            except (OSError, ValueError) as failed:
                fault = failed
        raise ServerUnavailable("the schema registry", self._settings.url, _reason(fault)) from fault

    def _fetch(self, url: str) -> Any:
        request = urllib.request.Request(url, headers=self._headers())  # noqa: S310 - the schemes are checked
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT, context=self._context) as answer:  # noqa: S310
                return json.loads(answer.read(MAX_ANSWER))
        except urllib.error.HTTPError as fault:
            with fault:
                if fault.code == 404 and _is_registrys(fault.read(MAX_ANSWER)):
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
    """Return the process's registry of these settings: one, so that an id is asked for once."""
    return HttpSchemas(settings)


def _check(address: str) -> None:
    if not address.startswith(("http://", "https://")):
        raise ConfigError(f"HEADWATER_SCHEMA_REGISTRY_URL begins with http:// or https://, not {address!r}")
    if "@" in urlsplit(address).netloc:
        # It would be shown wherever the address is; so it is not repeated here either.
        raise ConfigError("HEADWATER_SCHEMA_REGISTRY_URL has an account in it: set _USER and _PASSWORD instead")


def _unknown(number: int) -> EventRejected:
    return EventRejected("unknown_schema", f"the registry knows no schema id {number}")


def _is_registrys(answer: bytes) -> bool:
    """Tell a registry's 404 (``error_code`` 40403) from that of a proxy or a wrong path: only the first is an answer."""
    try:
        told = json.loads(answer)
    except ValueError:
        return False
    return isinstance(told, dict) and "error_code" in told


def _trust(ca: str | None) -> ssl.SSLContext | None:
    if ca is None:
        return None
    if not Path(ca).is_file():
        raise ConfigError(f"HEADWATER_SCHEMA_REGISTRY_CA: there is no file {ca}")
    return ssl.create_default_context(cafile=ca)


def _reason(fault: Exception | None) -> str:
    if isinstance(fault, urllib.error.HTTPError):
        if fault.code in (401, 403):
            return f"it refuses HEADWATER_SCHEMA_REGISTRY_USER and _PASSWORD (HTTP {fault.code})"
        return f"it answers HTTP {fault.code}; is the path of HEADWATER_SCHEMA_REGISTRY_URL right?"
    return str(fault)
