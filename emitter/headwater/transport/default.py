"""The transport that all parts of headwater share in a process.

If openlineage-python is configured, its transport is used, behind this package's queue and thread, so that it can neither
block nor fail a job; otherwise ``HeadwaterTransport`` with the settings of the environment.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from .client import ClientTransport, client_settings
from .composite import CompositeTransport
from .counters import Counters
from .memory import SilentTransport
from .openlineage import HeadwaterTransport
from .settings import HeadwaterConfig

logger = logging.getLogger("headwater.transport")

OWN_TYPES = ("headwater.transport.HeadwaterTransport", "headwater.transport.openlineage.HeadwaterTransport")


class DefaultTransport(Protocol):
    """What ``default_transport`` returns."""

    def emit(self, event: Any) -> None:
        """Queue an event (an object of openlineage-python, or a dict) and return; never raises."""

    def flush(self, timeout: float = 5.0) -> bool:
        """Return whether all events so far are delivered within ``timeout`` seconds."""
        ...

    def close(self, timeout: float = -1) -> bool:
        """Deliver what can be delivered within ``timeout`` seconds (negative: the setting); return whether all was."""
        ...

    def counters(self) -> Counters:
        """Return the counters of this transport's events in this process."""
        ...


_lock = threading.RLock()
_shared: DefaultTransport | None = None
_configured: dict[str, DefaultTransport] = {}


def default_transport() -> DefaultTransport:
    """Return the process's transport, created at the first call; never raises."""
    global _shared  # a process has one
    if _shared is None:
        with _lock:
            if _shared is None:
                _shared = build(os.environ)
    return _shared


def forget_default_transport(timeout: float = -1) -> bool:
    """Close the process's transport; the next ``default_transport`` reads the settings again."""
    global _shared
    with _lock:
        shared, _shared = _shared, None
    return True if shared is None else shared.close(timeout)


@dataclass(frozen=True, slots=True)
class Choice:
    """The transport to make of ``settings``: headwater's ``own``, an ``other`` of openlineage-python, or none (``off``)."""

    kind: Literal["own", "other", "off"]
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def choose(environ: Mapping[str, str], folders: tuple[Path, ...] | None = None) -> Choice:
    """Return the transport for this environment; openlineage-python searches ``folders`` for ``openlineage.yml``."""
    if _is_off(environ):
        return Choice("off")
    searched = (Path.cwd(), Path("~/.openlineage").expanduser()) if folders is None else folders
    settings = _client_settings() if _mentions_openlineage(environ, searched) else None
    if settings is None:
        return Choice("own")
    choice = _choice(settings)
    # openlineage-python's client reads its own configuration again.
    return choice if choice.kind == "own" else replace(choice, settings={})


def _choice(settings: Mapping[str, Any]) -> Choice:
    if settings.get("type") in OWN_TYPES and "filters" not in settings:
        own = {key: value for key, value in settings.items() if key not in ("type", "name", "priority")}
        return Choice("own", settings=own)
    return Choice("other", str(settings.get("type") or "http"), settings)


def _is_off(environ: Mapping[str, str]) -> bool:
    return environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true"


def build(environ: Mapping[str, str], folders: tuple[Path, ...] | None = None) -> DefaultTransport:
    """Return the transport that is chosen for this environment."""
    return _made(choose(environ, folders))


def configured_transport(settings: Mapping[str, Any], environ: Mapping[str, str]) -> DefaultTransport:
    """Return the transport of ``settings``, in the form of openlineage-python's ``transport``, behind a queue of its own.

    The same settings have the same transport in a process.
    """
    if _is_off(environ):
        return SilentTransport()
    key = json.dumps(settings, sort_keys=True)
    with _lock:
        if key not in _configured:
            _configured[key] = _made(_choice(settings))
        return _configured[key]


def _made(choice: Choice) -> DefaultTransport:
    match choice.kind:
        case "off":
            return SilentTransport()
        case "other" if choice.name == "composite" and choice.settings.get("continue_on_failure"):
            return CompositeTransport([_made(_choice(member)) for member in choice.settings["transports"].values()])
        case "other":
            return ClientTransport(choice.settings)
        case "own":
            return HeadwaterTransport(HeadwaterConfig.from_dict(dict(choice.settings)) if choice.settings else None)


def _mentions_openlineage(environ: Mapping[str, str], folders: tuple[Path, ...]) -> bool:
    named = any(key.startswith("OPENLINEAGE__") or key in ("OPENLINEAGE_CONFIG", "OPENLINEAGE_URL") for key in environ)
    return named or any((folder / "openlineage.yml").is_file() for folder in folders)


def _client_settings() -> dict[str, Any] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return client_settings()
    except Exception:  # its parser raises many kinds, and a job must not fail because of them
        logger.exception("openlineage-python's configuration can't be read; headwater's own settings are used")
        return None


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
