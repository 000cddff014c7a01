"""Facets as plain dicts: those a run has by itself, and the two members that every facet needs."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from headwater.producer import VERSION, Container, facet_schema, producer

Facet: TypeAlias = Any
"""A dict, or one of openlineage-python's facet objects."""

PRODUCER = producer("lineage")
STACK_LIMIT = 20_000
"""Characters of a stack trace that are kept, from its end: there the error is."""


def complete(facets: Mapping[str, Facet] | None, container: Container) -> dict[str, Facet]:
    """The facets with ``_producer`` and ``_schemaURL`` put in where a dict has none; objects as they are."""
    return {
        str(name): complete_one(str(name), facet, container)
        for name, facet in (facets or {}).items()
        if facet is not None
    }


def complete_one(name: str, facet: Facet, container: Container) -> Facet:
    """As `complete`, for one facet."""
    if not isinstance(facet, Mapping):
        return facet
    return {"_producer": PRODUCER, "_schemaURL": facet_schema(container, name)} | dict(facet)


def processing_engine() -> dict[str, str]:
    """The run facet ``processing_engine``: this Python."""
    return {
        "name": platform.python_implementation(),
        "version": platform.python_version(),
        "openlineageAdapterVersion": VERSION,
    }


def error_message(error: BaseException) -> dict[str, str]:
    """The run facet ``errorMessage``; the stack trace's end, where it is very long."""
    stack = "".join(traceback.format_exception(error))
    return {
        "message": str(error) or type(error).__name__,
        "programmingLanguage": "PYTHON",
        "stackTrace": stack[-STACK_LIMIT:],
    }


def environment_variables(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The run facet ``environmentVariables``: those of ``names`` that are set, None if none is."""
    found = [{"name": name, "value": environ[name]} for name in sorted(set(names)) if name in environ]
    return {"environmentVariables": found} if found else None


def job_type(processing_type: str) -> dict[str, str]:
    """The job facet ``jobType`` of a Python job."""
    return {"processingType": processing_type, "integration": "PYTHON", "jobType": "SCRIPT"}
