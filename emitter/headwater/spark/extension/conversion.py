"""Conversion of the datasets and facets that libraries return: plain objects, openlineage-python's classes, builders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openlineage.client.serde import Serde

from ...producer import base_schema
from ..datasets.facets import PRODUCER
from ..datasets.tables import Dataset
from ..datasets.writes import Written


def as_facet(facet: Any) -> dict[str, Any]:
    """Return a facet as a plain object with producer and schema; raise ``TypeError`` for anything that is not a facet."""
    members = facet if isinstance(facet, Mapping) else Serde.to_dict(facet)
    if not isinstance(members, Mapping):
        raise TypeError(f"not a facet: {type(facet).__name__}")
    return {"_producer": PRODUCER, "_schemaURL": base_schema("BaseFacet"), **members}


def as_facets(facets: Any) -> dict[str, Any]:
    """Return facets by name, each as ``as_facet`` returns it."""
    return {str(name): as_facet(facet) for name, facet in dict(facets or {}).items()}


def as_dataset(built: Any) -> Dataset:
    """Return the dataset that a visitor or builder returned; raise ``TypeError`` where it has no key."""
    if isinstance(built, Dataset):
        return built
    if isinstance(built, Written):
        return built.dataset
    namespace, name = getattr(built, "namespace", None), getattr(built, "name", None)
    if not isinstance(namespace, str) or not isinstance(name, str):
        raise TypeError(f"not a dataset: {type(built).__name__}")
    own = getattr(built, "input_facets", None) or getattr(built, "output_facets", None)
    own = own or getattr(built, "inputFacets", None) or getattr(built, "outputFacets", None)
    return Dataset(namespace, name, as_facets(getattr(built, "facets", None)), as_facets(own))
