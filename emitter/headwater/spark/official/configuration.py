"""The entries ``spark.openlineage.*`` of a Spark configuration, or headwater's own, and which of them nothing has read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

PREFIX = "spark.openlineage."
OWN_PREFIX = "spark.headwater."

OWN_NAMES = ("jobPer", "jobName.removePatterns")

_T = TypeVar("_T")


@dataclass(slots=True)
class OfficialConfiguration:
    """The entries by their name without the prefix; those that are read are obeyed, all others are reported."""

    entries: Mapping[str, str]
    prefix: str = PREFIX
    _read: set[str] = field(default_factory=set)
    _wrong: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, conf: Mapping[str, str]) -> OfficialConfiguration:
        """Return the entries of a Spark configuration; empty ones are as absent."""
        found = {key.removeprefix(PREFIX): value.strip() for key, value in conf.items() if key.startswith(PREFIX)}
        entries = {key: value for key, value in found.items() if value}
        is_http = entries.get("transport.type") == "http"
        return cls(entries | _names_in(entries.get("transport.url", "")) if is_http else entries)

    @classmethod
    def own(cls, conf: Mapping[str, str], environ: Mapping[str, str]) -> OfficialConfiguration:
        """Return headwater's own entries of a Spark configuration, with those of the environment for the others."""
        named = {name: environ.get(f"HEADWATER_SPARK_{_upper(name)}", "") for name in OWN_NAMES}
        named |= {key.removeprefix(OWN_PREFIX): value for key, value in conf.items() if key.startswith(OWN_PREFIX)}
        return cls({key: value.strip() for key, value in named.items() if value.strip()}, OWN_PREFIX)

    def text(self, name: str) -> str | None:
        """Return the value of an entry, or None."""
        self._read.add(name)
        return self.entries.get(name)

    def flag(self, name: str, default: bool) -> bool:
        """Return whether an entry is ``true``; the default where it is absent or neither ``true`` nor ``false``."""
        return self.parsed(name, _flag, default)

    def parsed(self, name: str, parse: Callable[[str], _T], default: _T) -> _T:
        """Return an entry as ``parse`` reads it; the default where it is absent or ``parse`` raises ValueError."""
        text = self.text(name)
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as fault:
            self.refuse(name, str(fault))
            return default

    def refuse(self, name: str, reason: str) -> None:
        """Report an entry whose value cannot be obeyed."""
        self._wrong.setdefault(name, reason)

    def under(self, prefix: str) -> dict[str, str]:
        """Return the entries whose names begin with ``prefix``, without it."""
        found = {name: value for name, value in self.entries.items() if name.startswith(prefix)}
        self._read.update(found)
        return {name.removeprefix(prefix): value for name, value in found.items()}

    def not_obeyed(self) -> tuple[str, ...]:
        """Return the names of the entries that nothing has read, and of those with a wrong value with the reason."""
        unread = [name for name in self.entries if name not in self._read and name not in self._wrong]
        wrong = [f"{name} ({reason})" for name, reason in self._wrong.items()]
        return tuple(self.prefix + entry for entry in sorted([*unread, *wrong]))


def _upper(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", name).upper()


def items(text: str) -> list[str]:
    """Return the parts of a list in the official form, ``[a;b]``."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return [part.strip() for part in inner.split(";") if part.strip()]


def java_pattern(text: str) -> re.Pattern[str]:
    """Return a Java regular expression as one of Python's; raise ``ValueError`` where Python has no such expression."""
    try:
        return re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", text))
    except re.error as fault:
        raise ValueError(f"not a regular expression: {fault}") from fault


def _names_in(url: str) -> dict[str, str]:
    """Return the entries in ``http://host/api/v1/namespaces/NAME/jobs/PARENT/runs/ID?app_name=NAME``."""
    address = urlsplit(url)
    parts = address.path.strip("/").split("/")[2:]
    named = dict(zip(parts[::2], parts[1::2], strict=False)) | dict(parse_qsl(address.query))
    return {entry: named[name] for name, entry in _IN_URLS.items() if named.get(name)}


_IN_URLS = {"namespaces": "namespace", "jobs": "parentJobName", "runs": "parentRunId", "app_name": "appName"}


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"
