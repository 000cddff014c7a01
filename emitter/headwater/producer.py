"""What identifies this library in events: its version, its ``producer`` URIs, and the schema address of each facet.

Names and versions of facets come from openlineage-python's generated classes, so that none is written by hand. The classes
are imported when a facet first needs them.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias

Container: TypeAlias = Literal["run", "job", "dataset", "input", "output"]
"""The part of an event that carries a facet; one name may mean different facets in different containers."""

EventType: TypeAlias = Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]

Emitter: TypeAlias = Literal["lineage", "operators", "spark"]


def _version() -> str:
    try:
        return version("headwater")
    except PackageNotFoundError:  # a zip on PYTHONPATH has no metadata
        return "unknown"


VERSION: Final = _version()

BASES: Final[dict[Container, str]] = {
    "run": "RunFacet",
    "job": "JobFacet",
    "dataset": "DatasetFacet",
    "input": "InputDatasetFacet",
    "output": "OutputDatasetFacet",
}
"""The base class of the facets of a container."""

_FACETS: dict[Container, str] = {
    "run": "parent nominalTime errorMessage processing_engine externalQuery extractionError jobDependencies "
    "environmentVariables executionParameters tags test",
    "job": "jobType sql sourceCode sourceCodeLocation documentation ownership tags lineage",
    "dataset": "schema dataSource version columnLineage symlinks lifecycleStateChange ownership documentation tags storage "
    "datasetType catalog hierarchy lineage dataQualityMetrics",
    "input": "inputStatistics dataQualityMetrics dataQualityAssertions subset",
    "output": "outputStatistics subset",
}
# Other facets have the class of their name and container: ``nominalTime`` of a run ``NominalTimeRunFacet``.
_IRREGULAR_CLASSES: dict[tuple[Container, str], str] = {
    ("run", "processing_engine"): "ProcessingEngineRunFacet",
    ("job", "sql"): "SQLJobFacet",
    ("dataset", "dataSource"): "DatasourceDatasetFacet",
    ("dataset", "version"): "DatasetVersionDatasetFacet",
    ("input", "dataQualityAssertions"): "DataQualityAssertionsDatasetFacet",
    ("input", "subset"): "InputSubsetInputDatasetFacet",
    ("output", "subset"): "OutputSubsetOutputDatasetFacet",
}
CLASSES: Final[dict[tuple[Container, str], str]] = {
    (container, name): _IRREGULAR_CLASSES.get((container, name), name[0].upper() + name[1:] + BASES[container])
    for container, names in _FACETS.items()
    for name in names.split()
}
"""The name of openlineage-python's class of each facet, by container and facet name."""


def producer(emitter: Emitter) -> str:
    """Return the ``producer`` of an emitter's events, which is also the ``_producer`` of its facets."""
    return f"https://github.com/headwater/headwater/tree/{VERSION}/emitter/{emitter}"


@cache
def generated_classes() -> dict[str, Any]:
    """Return openlineage-python's classes of facets, and of their parts, by name."""
    modules = vars(importlib.import_module("openlineage.client.facet_v2")).values()
    return {
        name: member for module in modules if isinstance(module, ModuleType) for name, member in vars(module).items()
    }


@cache
def facet_class(container: Container, name: str) -> Any:
    """Return openlineage-python's class of a facet; None if the installed release has no such class."""
    return generated_classes().get(CLASSES.get((container, name), ""))


@cache
def facet_schema(container: Container, name: str) -> str:
    """Return the ``_schemaURL`` of a facet: that of its class, or of the container's base facet where it has no class."""
    cls = facet_class(container, name)
    return base_schema(BASES[container]) if cls is None else str(cls._get_schema())


@cache
def base_schema(name: str) -> str:
    """Return the schema address of a definition of OpenLineage.json, such as ``RunEvent`` or ``BaseFacet``."""
    return str(getattr(importlib.import_module("openlineage.client.generated.base"), name)._get_schema())


def own_schema(facet: str) -> str:
    """Return the schema address of a facet that headwater defines."""
    return f"urn:headwater:facets:1-0-0:{facet}"
