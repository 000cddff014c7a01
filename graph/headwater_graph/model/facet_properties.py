"""Values that a job or dataset node stores beside the JSON text of its facets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

STREAMING = ("STREAMING", "SERVICE")
"""The processing types of jobs whose runs don't end (specification 3.4)."""


def facets_of(text: str | None) -> dict[str, Any]:
    """Return the facets that a node's JSON text contains, ``{}`` without a text."""
    facets = json.loads(text) if text else {}
    return facets if isinstance(facets, dict) else {}


def is_streaming(facets: Mapping[str, Any]) -> bool:
    """Return whether the job facet ``jobType`` says that the job is streaming (specification 3.4)."""
    job_type = facets.get("jobType")
    return isinstance(job_type, dict) and job_type.get("processingType") in STREAMING


def owners(facets: Mapping[str, Any]) -> list[str]:
    """Return the names in the facet ``ownership``, in its order."""
    facet = facets.get("ownership")
    listed = facet.get("owners") if isinstance(facet, dict) else None
    names = [owner.get("name") for owner in listed if isinstance(owner, dict)] if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str) and name]


def dataset_properties_of(facets: str) -> dict[str, Any]:
    """Return the property ``owners`` of a dataset with these facets; None without any owner."""
    return {"owners": owners(_read(facets)) or None}


def job_properties_of(facets: str) -> dict[str, Any]:
    """Return the properties ``owners`` and ``streaming`` of a job with these facets; None where the facets don't state them."""
    read = _read(facets)
    return {"owners": owners(read) or None, "streaming": is_streaming(read) or None}


def _read(facets: str) -> dict[str, Any]:
    # Most texts have neither facet and can be long, so they are not parsed.
    return facets_of(facets) if '"ownership"' in facets or '"jobType"' in facets else {}
