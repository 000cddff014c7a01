"""Settings of Airflow's ``[openlineage]`` section, those that its provider knows: one place to set for both."""

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

logger = logging.getLogger(__name__)

Read: TypeAlias = Callable[[str], str | None]
"""The key of a setting of the section -> its value, None where it isn't set."""


@dataclass(frozen=True, slots=True)
class AirflowSettings:
    """What of the section counts here; wrong values count as their defaults, with a warning."""

    namespace: str = "default"
    disabled: bool = False
    timeout: float = 10.0
    isolation: Isolation = "thread"
    extractors: str = ""
    custom_facets: tuple[str, ...] = ()
    policy: EmissionPolicy = field(default_factory=EmissionPolicy)

    def listener(self, **more: Any) -> TaskLineageListener:
        """A listener as these settings ask for; what can't be imported is left out with a warning."""
        functions = [_imported(path) for path in self.custom_facets]
        return TaskLineageListener(
            registry=ExtractorRegistry(paths=self.extractors),
            policy=self.policy,
            custom_facets=[each for each in functions if each is not None],
            timeout=self.timeout,
            isolation=self.isolation,
            **more,
        )


def read_settings(read: Read, environ: Mapping[str, str]) -> AirflowSettings:
    """Read the section; the environment's ``OPENLINEAGE_NAMESPACE`` counts where it is silent.

    The section's own ``disabled`` is about the provider. This listener is on where ``HEADWATER_AIRFLOW_LISTENER`` says
    so, and where that says nothing and ``HEADWATER_KAFKA_BOOTSTRAP_SERVERS`` is set; ``OPENLINEAGE_DISABLED`` is off.

    Extraction is in a thread unless ``HEADWATER_AIRFLOW_ISOLATION`` is ``fork``: a child that is killed while it asks
    Airflow's supervisor for an XCom would leave the answer in the task's own channel.
    """
    return AirflowSettings(
        namespace=read("namespace") or environ.get("OPENLINEAGE_NAMESPACE") or "default",
        disabled=not _wanted(environ),
        timeout=_seconds(read("execution_timeout")),
        isolation="fork" if environ.get("HEADWATER_AIRFLOW_ISOLATION") == "fork" else "thread",
        extractors=read("extractors") or environ.get("OPENLINEAGE_EXTRACTORS") or "",
        custom_facets=tuple(_list(read("custom_run_facets"))),
        policy=EmissionPolicy.of(_rules(read("emission_policy")), _list(read("disabled_for_operators"))),
    )


def from_airflow() -> AirflowSettings:
    """The settings of this Airflow; raises ImportError where there is none."""
    conf: Any = importlib.import_module("airflow.configuration").conf
    return read_settings(lambda key: conf.get("openlineage", key, fallback=None), os.environ)


def provider_listens() -> bool:
    """Whether Airflow's own provider is there and switched on: then it sends the events of tasks, and a second
    listener must not."""
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
        logger.warning("custom run facets of %s can't be used and are left out: %s", path, fault)
        return None
    return function


def _wanted(environ: Mapping[str, str]) -> bool:
    if _true(environ.get("OPENLINEAGE_DISABLED")):
        return False
    asked = environ.get("HEADWATER_AIRFLOW_LISTENER")
    return _true(asked) if asked else bool(environ.get("HEADWATER_KAFKA_BOOTSTRAP_SERVERS"))


def _true(value: str | None) -> bool:
    return (value or "").strip().lower() in ("true", "t", "1", "yes", "on")


def _list(value: str | None) -> list[str]:
    return [each.strip() for each in (value or "").split(";") if each.strip()]


def _seconds(value: str | None) -> float:
    try:
        seconds = float(value or 10)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        logger.warning("execution_timeout %r is no number of seconds: 10 is used", value)
        return 10.0
    return seconds


def _rules(value: str | None) -> Any:
    try:
        return json.loads(value or "[]")
    except ValueError as fault:
        logger.warning("emission_policy is no JSON (%s): everything is told", fault)
        return []
