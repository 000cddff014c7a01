"""Facets as dicts: those that every run has, and the two members that every facet requires."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ..producer import VERSION, Container, facet_schema, producer

Facet: TypeAlias = Any
"""A dict, or one of openlineage-python's facet objects."""

Facets: TypeAlias = Mapping[str, Facet]
"""Facets by name."""

PRODUCER = producer("lineage")
STACK_LIMIT = 20_000
"""The maximum length of a stack trace in characters; its end, with the error, is retained."""


def complete(facets: Facets | None, container: Container) -> dict[str, Facet]:
    """Return the facets; dicts get ``_producer`` and ``_schemaURL`` if they lack them, objects are unchanged."""
    return {
        str(name): complete_facet(str(name), facet, container)
        for name, facet in (facets or {}).items()
        if facet is not None
    }


def complete_facet(name: str, facet: Facet, container: Container) -> Facet:
    """Return a facet; a dict gets ``_producer`` and ``_schemaURL`` if it lacks them."""
    if not isinstance(facet, Mapping):
        return facet
    return {"_producer": PRODUCER, "_schemaURL": facet_schema(container, name)} | dict(facet)


def processing_engine() -> dict[str, str]:
    """Return the run facet ``processing_engine`` for this Python interpreter."""
    return {
        "name": platform.python_implementation(),
        "version": platform.python_version(),
        "openlineageAdapterVersion": VERSION,
    }


def error_message(error: BaseException) -> dict[str, str]:
    """Return the run facet ``errorMessage``; a stack trace longer than ``STACK_LIMIT`` is truncated at its start."""
    stack = "".join(traceback.format_exception(error))
    return {
        "message": str(error) or type(error).__name__,
        "programmingLanguage": "PYTHON",
        "stackTrace": stack[-STACK_LIMIT:],
    }


def environment_variables(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the run facet ``environmentVariables`` with those of ``names`` that are set, None if none is set."""
    found = [{"name": name, "value": environ[name]} for name in sorted(set(names)) if name in environ]
    return {"environmentVariables": found} if found else None


def job_type(processing_type: str) -> dict[str, str]:
    """Return the job facet ``jobType`` of a Python job."""
    return {"processingType": processing_type, "integration": "PYTHON", "jobType": "SCRIPT"}
