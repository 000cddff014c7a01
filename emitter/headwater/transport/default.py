"""The transport that all parts of headwater share in a process.

If openlineage-python is configured, its transport is used, behind this package's queue and thread, so that it can neither
block nor fail a job; otherwise ``HeadwaterTransport`` with the settings of the environment.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from .client import ClientTransport, client_settings
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


def default_transport() -> DefaultTransport:
    """Return the process's transport, created at the first call; never raises."""
    global _shared  # a process has one
    if _shared is None:
        with _lock:
            if _shared is None:
                _shared = build(os.environ, (Path.cwd(), Path("~/.openlineage").expanduser()))
    return _shared


def forget_default_transport(timeout: float = -1) -> bool:
    """Close the process's transport; the next ``default_transport`` reads the settings again."""
    global _shared
    with _lock:
        shared, _shared = _shared, None
    return True if shared is None else shared.close(timeout)


def build(environ: Mapping[str, str], folders: tuple[Path, ...]) -> DefaultTransport:
    """Return the transport for this environment; openlineage-python searches ``folders`` for ``openlineage.yml``."""
    if environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return SilentTransport()
    settings = _client_settings() if _mentions_openlineage(environ, folders) else None
    if settings is None:
        return HeadwaterTransport()
    if settings.get("type") in OWN_TYPES and "filters" not in settings:
        own = {key: value for key, value in settings.items() if key not in ("type", "name", "priority")}
        return HeadwaterTransport(HeadwaterConfig.from_dict(own))
    return ClientTransport()


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
