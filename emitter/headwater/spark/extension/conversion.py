"""Datasets and facets of others as ours: plain objects, openlineage-python's classes, or builders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openlineage.client.serde import Serde

from ..datasets.facets import PRODUCER
from ..datasets.tables import Dataset
from ..datasets.writes import Written

_ANY_FACET = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/BaseFacet"


def as_facet(facet: Any) -> dict[str, Any]:
    """A facet as a plain object that has its producer and schema; raises ``TypeError`` for what is none."""
    told = facet if isinstance(facet, Mapping) else Serde.to_dict(facet)
    if not isinstance(told, Mapping):
        raise TypeError(f"not a facet: {type(facet).__name__}")
    return {"_producer": PRODUCER, "_schemaURL": _ANY_FACET, **told}


def as_facets(facets: Any) -> dict[str, Any]:
    """Facets by name."""
    return {str(name): as_facet(facet) for name, facet in dict(facets or {}).items()}


def as_dataset(built: Any) -> Dataset:
    """A dataset of ours from what a visitor or builder returned; raises ``TypeError`` where it has no key."""
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
