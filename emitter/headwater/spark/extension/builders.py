"""Builders of facets (``context.open_lineage``), with the names of the official integration in Python's spelling.

They create openlineage-python's classes, so the members of a facet, and what is required, are those of the specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from ...producer import CLASSES, Container, generated_classes
from ..datasets.facets import PRODUCER


class FacetsBuilder(Mapping[str, Any]):
    """The facets of one container, by name: ``.version(facet)`` adds the facet ``version``, ``put(name, facet)`` any other.

    Each method returns the builder. It is accepted wherever facets are.
    """

    container: ClassVar[Container]

    def __init__(self) -> None:
        self._facets: dict[str, Any] = {}

    def put(self, name: str, facet: Any) -> FacetsBuilder:
        """Add a facet that the specification does not define."""
        self._facets[name] = facet
        return self

    def build(self) -> dict[str, Any]:
        """Return the facets by name."""
        return dict(self._facets)

    def __getattr__(self, name: str) -> Any:
        facet = _facet_names(self.container).get(name)
        if facet is None:
            raise AttributeError(f"{type(self).__name__} has no facet {name}; add your own by put(name, facet)")
        return lambda value: self.put(facet, value)

    def __getitem__(self, name: str) -> Any:
        return self._facets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facets)

    def __len__(self) -> int:
        return len(self._facets)


class RunFacetsBuilder(FacetsBuilder):
    """The facets of a run."""

    container = "run"


class JobFacetsBuilder(FacetsBuilder):
    """The facets of a job."""

    container = "job"


class DatasetFacetsBuilder(FacetsBuilder):
    """The facets of a dataset."""

    container = "dataset"


class InputDatasetInputFacetsBuilder(FacetsBuilder):
    """The facets of an input in one run."""

    container = "input"


class OutputDatasetOutputFacetsBuilder(FacetsBuilder):
    """The facets of an output in one run."""

    container = "output"


class OpenLineage:
    """Creates facets: ``new_dataset_version_dataset_facet("7")``, ``DatasetFacetsBuilder()``.

    ``new_…`` followed by the name of a class of openlineage-python creates an object of that class; the class itself is an
    attribute, as in ``LifecycleStateChange.OVERWRITE``.
    """

    RunFacetsBuilder = RunFacetsBuilder
    JobFacetsBuilder = JobFacetsBuilder
    DatasetFacetsBuilder = DatasetFacetsBuilder
    InputDatasetInputFacetsBuilder = InputDatasetInputFacetsBuilder
    OutputDatasetOutputFacetsBuilder = OutputDatasetOutputFacetsBuilder

    def __getattr__(self, name: str) -> Any:
        created = _classes().get(name.removeprefix("new_")) if name.startswith("new_") else None
        if created is not None:
            return lambda *values, **members: _created(created, values, members)
        found = generated_classes().get(name)
        if not isinstance(found, type):
            raise AttributeError(f"openlineage-python has no class for {name}")
        return found


def _created(cls: Any, values: tuple[Any, ...], members: Mapping[str, Any]) -> Any:
    made = cls(*values, **members)
    if hasattr(made, "_producer"):
        made._producer = PRODUCER
    return made


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


@cache
def _facet_names(container: Container) -> dict[str, str]:
    return {_snake_case(name): name for kind, name in CLASSES if kind == container}


@cache
def _classes() -> dict[str, Any]:
    """Return openlineage-python's classes by their names in Python's spelling."""
    return {_snake_case(name): found for name, found in generated_classes().items() if isinstance(found, type)}
