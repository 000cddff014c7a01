"""Masking of Airflow's registered secrets in the facets of events.

A facet that cannot be masked is left out.
"""

from __future__ import annotations

import copy
import importlib
import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from ...transport.wire import facets_of
from ..sink import EventSink

logger = logging.getLogger(__name__)

Mask: TypeAlias = Callable[[Any], Any]
"""A function that returns a value without secrets; may raise."""


class MaskingSink:
    """A sink that masks every facet of an event; the keys of runs, jobs and datasets are unchanged."""

    def __init__(self, sink: Callable[[], EventSink], mask: Mask) -> None:
        self._sink = sink
        self._mask = mask

    def emit(self, event: dict[str, Any]) -> None:
        masked = copy.deepcopy(event)
        for _, _, facets in facets_of(masked):
            pairs = [(name, self._masked(name, facet)) for name, facet in facets.items()]
            facets.clear()
            facets.update((name, facet) for name, facet in pairs if facet is not None)
        self._sink().emit(masked)

    def flush(self, timeout: float) -> bool:
        return self._sink().flush(timeout)

    def close(self, timeout: float) -> bool:
        return self._sink().close(timeout)

    def _masked(self, name: str, facet: dict[str, Any]) -> dict[str, Any] | None:
        # References to other runs and the facet's own address are keys, too.
        if name == "parent":
            return facet
        try:
            members = self._mask({key: value for key, value in facet.items() if not key.startswith("_")})
        except Exception as fault:  # noqa: BLE001  whatever the masker raises, the facet must not leave unmasked
            logger.warning("facet %s cannot be masked and is left out: %s", name, fault)
            return None
        return {**{key: value for key, value in facet.items() if key.startswith("_")}, **members}


def airflow_mask() -> Mask:
    """Return the masker of this Airflow, for any depth of a facet."""
    for name in ("airflow.sdk.log", "airflow.sdk.execution_time.secrets_masker", "airflow.utils.log.secrets_masker"):
        try:
            redact: Any = importlib.import_module(name).redact
        except (ImportError, AttributeError):
            continue
        return lambda value: redact(value, max_depth=20)
    raise ImportError("no known secrets masker in this Airflow: use a supported release (docs/operators.md)")
