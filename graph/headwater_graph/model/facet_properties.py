"""What is read of the facets that a job or dataset keeps as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

STREAMING = ("STREAMING", "SERVICE")
"""The processing types of jobs whose runs don't end (specification 3.4)."""


def facets_of(text: str | None) -> dict[str, Any]:
    """Return the facets that a node's JSON text holds; none where there is no text."""
    facets = json.loads(text) if text else {}
    return facets if isinstance(facets, dict) else {}


def is_streaming(facets: Mapping[str, Any]) -> bool:
    """Tell whether the job facet ``jobType`` says that the job streams (specification 3.4)."""
    job_type = facets.get("jobType")
    return isinstance(job_type, dict) and job_type.get("processingType") in STREAMING


def owners(facets: Mapping[str, Any]) -> list[str]:
    """Return the names of the facet ``ownership``, in its order."""
    facet = facets.get("ownership")
    listed = facet.get("owners") if isinstance(facet, dict) else None
    named = [owner.get("name") for owner in listed if isinstance(owner, dict)] if isinstance(listed, list) else []
    return [name for name in named if isinstance(name, str) and name]


def dataset_properties_of(facets: str) -> dict[str, Any]:
    """Return what a dataset keeps of its facets beside their text: ``owners``, None where none are told."""
    return {"owners": owners(_read(facets)) or None}


def job_properties_of(facets: str) -> dict[str, Any]:
    """Return what a job keeps of its facets beside their text: ``owners`` and ``streaming``, each None where it is not told."""
    read = _read(facets)
    return {"owners": owners(read) or None, "streaming": is_streaming(read) or None}


def _read(facets: str) -> dict[str, Any]:
    """The facets, where any is among them that something is kept of: most are not, and can be long."""
    return facets_of(facets) if '"ownership"' in facets or '"jobType"' in facets else {}
