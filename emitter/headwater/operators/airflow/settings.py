"""Settings in Airflow's ``[openlineage]`` section, which its provider also reads."""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..bounded import Isolation
from ..collect import CustomFacets
from ..contract.extractors import ExtractorRegistry
from ..listener import TaskLineageListener
from ..policy import EmissionPolicy
from .sqlite import SqliteExtractor

logger = logging.getLogger(__name__)

Read: TypeAlias = Callable[[str], str | None]
"""A function from a key of the section to its value, None where it is not set."""


@dataclass(frozen=True, slots=True)
class AirflowSettings:
    """The settings that apply to this listener; an invalid value is replaced by its default, with a warning."""

    namespace: str = "default"
    disabled: bool = False
    timeout: float = 10.0
    isolation: Isolation = "thread"
    extractors: str = ""
    custom_facets: tuple[str, ...] = ()
    policy: EmissionPolicy = field(default_factory=EmissionPolicy)

    def listener(self, **more: Any) -> TaskLineageListener:
        """Return a listener with these settings; functions that cannot be imported are left out with a warning."""
        functions = [_imported(path) for path in self.custom_facets]
        return TaskLineageListener(
            registry=ExtractorRegistry([SqliteExtractor], paths=self.extractors),
            policy=self.policy,
            custom_facets=[function for function in functions if function is not None],
            timeout=self.timeout,
            isolation=self.isolation,
            **more,
        )


def read_settings(read: Read, environ: Mapping[str, str]) -> AirflowSettings:
    """Return the settings of the section, else those of the environment (``OPENLINEAGE_NAMESPACE`` and the like).

    The section's own ``disabled`` applies to the provider only. This listener is enabled by ``HEADWATER_AIRFLOW_LISTENER``,
    without it by ``HEADWATER_KAFKA_BOOTSTRAP_SERVERS``, and disabled by ``OPENLINEAGE_DISABLED``.

    Extraction runs in a thread unless ``HEADWATER_AIRFLOW_ISOLATION`` is ``fork``: a child that is killed while it requests
    an XCom from Airflow's supervisor would leave the response in the task's own connection.
    """
    return AirflowSettings(
        namespace=read("namespace") or environ.get("OPENLINEAGE_NAMESPACE") or "default",
        disabled=not _enabled(environ),
        timeout=_seconds(read("execution_timeout")),
        isolation="fork" if environ.get("HEADWATER_AIRFLOW_ISOLATION") == "fork" else "thread",
        extractors=read("extractors") or environ.get("OPENLINEAGE_EXTRACTORS") or "",
        custom_facets=tuple(_list(read("custom_run_facets"))),
        policy=EmissionPolicy.of(_rules(read("emission_policy")), _list(read("disabled_for_operators"))),
    )


def from_airflow() -> AirflowSettings:
    """Return the settings of this Airflow; raise ImportError where there is none."""
    conf: Any = importlib.import_module("airflow.configuration").conf
    return read_settings(lambda key: conf.get("openlineage", key, fallback=None), os.environ)


def provider_listens() -> bool:
    """Return whether Airflow's own provider is installed and enabled, and so emits the events of tasks."""
    try:
        if importlib.util.find_spec("airflow.providers.openlineage") is None:
            return False
        return not importlib.import_module("airflow.providers.openlineage.conf").is_disabled()
    except ImportError:
        return False


def _imported(path: str) -> CustomFacets | None:
    module, _, name = path.rpartition(".")
    try:
        function: CustomFacets = getattr(importlib.import_module(module), name)
    except Exception as fault:  # noqa: BLE001  importing runs foreign code
        logger.warning("custom run facets of %s cannot be used and are left out: %s", path, fault)
        return None
    return function


def _enabled(environ: Mapping[str, str]) -> bool:
    if _true(environ.get("OPENLINEAGE_DISABLED")):
        return False
    listener = environ.get("HEADWATER_AIRFLOW_LISTENER")
    return _true(listener) if listener else bool(environ.get("HEADWATER_KAFKA_BOOTSTRAP_SERVERS"))


def _true(value: str | None) -> bool:
    return (value or "").strip().lower() in ("true", "t", "1", "yes", "on")


def _list(value: str | None) -> list[str]:
    return [item.strip() for item in (value or "").split(";") if item.strip()]


def _seconds(value: str | None) -> float:
    try:
        seconds = float(value or 10)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        logger.warning("execution_timeout %r is not a positive number of seconds: 10 is used", value)
        return 10.0
    return seconds


def _rules(value: str | None) -> Any:
    try:
        return json.loads(value or "[]")
    except ValueError as fault:
        logger.warning("emission_policy is not JSON (%s): every task is emitted", fault)
        return []
