"""What identifies this library in events: its version, its ``producer`` URIs, and the schema address of each facet.

Names and versions of facets come from openlineage-python's generated classes, so that none is written by hand. The classes
are imported when a facet first needs them.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal, TypeAlias

Container: TypeAlias = Literal["run", "job", "dataset", "input", "output"]
"""The part of an event that carries a facet; one name may mean different facets in different containers."""

Emitter: TypeAlias = Literal["lineage", "operators", "spark"]


def _version() -> str:
    try:
        return version("headwater")
    except PackageNotFoundError:  # a zip on PYTHONPATH has no metadata
        return "unknown"


VERSION: Final = _version()

_BASE: dict[Container, str] = {
    "run": "RunFacet",
    "job": "JobFacet",
    "dataset": "DatasetFacet",
    "input": "InputDatasetFacet",
    "output": "OutputDatasetFacet",
}

# (container, facet name) -> module and class under openlineage.client.generated. Older releases lack some of them.
CLASSES: Final[dict[tuple[Container, str], tuple[str, str]]] = {
    ("run", "parent"): ("parent_run", "ParentRunFacet"),
    ("run", "nominalTime"): ("nominal_time_run", "NominalTimeRunFacet"),
    ("run", "errorMessage"): ("error_message_run", "ErrorMessageRunFacet"),
    ("run", "processing_engine"): ("processing_engine_run", "ProcessingEngineRunFacet"),
    ("run", "externalQuery"): ("external_query_run", "ExternalQueryRunFacet"),
    ("run", "extractionError"): ("extraction_error_run", "ExtractionErrorRunFacet"),
    ("run", "jobDependencies"): ("job_dependencies_run", "JobDependenciesRunFacet"),
    ("run", "environmentVariables"): ("environment_variables_run", "EnvironmentVariablesRunFacet"),
    ("run", "executionParameters"): ("execution_parameters_run", "ExecutionParametersRunFacet"),
    ("run", "tags"): ("tags_run", "TagsRunFacet"),
    ("run", "test"): ("test_run", "TestRunFacet"),
    ("job", "jobType"): ("job_type_job", "JobTypeJobFacet"),
    ("job", "sql"): ("sql_job", "SQLJobFacet"),
    ("job", "sourceCode"): ("source_code_job", "SourceCodeJobFacet"),
    ("job", "sourceCodeLocation"): ("source_code_location_job", "SourceCodeLocationJobFacet"),
    ("job", "documentation"): ("documentation_job", "DocumentationJobFacet"),
    ("job", "ownership"): ("ownership_job", "OwnershipJobFacet"),
    ("job", "tags"): ("tags_job", "TagsJobFacet"),
    ("job", "lineage"): ("lineage", "LineageJobFacet"),
    ("dataset", "schema"): ("schema_dataset", "SchemaDatasetFacet"),
    ("dataset", "dataSource"): ("datasource_dataset", "DatasourceDatasetFacet"),
    ("dataset", "version"): ("dataset_version_dataset", "DatasetVersionDatasetFacet"),
    ("dataset", "columnLineage"): ("column_lineage_dataset", "ColumnLineageDatasetFacet"),
    ("dataset", "symlinks"): ("symlinks_dataset", "SymlinksDatasetFacet"),
    ("dataset", "lifecycleStateChange"): ("lifecycle_state_change_dataset", "LifecycleStateChangeDatasetFacet"),
    ("dataset", "ownership"): ("ownership_dataset", "OwnershipDatasetFacet"),
    ("dataset", "documentation"): ("documentation_dataset", "DocumentationDatasetFacet"),
    ("dataset", "tags"): ("tags_dataset", "TagsDatasetFacet"),
    ("dataset", "storage"): ("storage_dataset", "StorageDatasetFacet"),
    ("dataset", "datasetType"): ("dataset_type_dataset", "DatasetTypeDatasetFacet"),
    ("dataset", "catalog"): ("catalog_dataset", "CatalogDatasetFacet"),
    ("dataset", "hierarchy"): ("hierarchy_dataset", "HierarchyDatasetFacet"),
    ("dataset", "dataQualityMetrics"): ("data_quality_metrics_dataset", "DataQualityMetricsDatasetFacet"),
    ("input", "inputStatistics"): ("input_statistics_input_dataset", "InputStatisticsInputDatasetFacet"),
    ("input", "dataQualityMetrics"): ("data_quality_metrics_input_dataset", "DataQualityMetricsInputDatasetFacet"),
    ("input", "dataQualityAssertions"): ("data_quality_assertions_dataset", "DataQualityAssertionsDatasetFacet"),
    ("input", "subset"): ("base_subset_dataset", "InputSubsetInputDatasetFacet"),
    ("output", "outputStatistics"): ("output_statistics_output_dataset", "OutputStatisticsOutputDatasetFacet"),
    ("output", "subset"): ("base_subset_dataset", "OutputSubsetOutputDatasetFacet"),
}


def producer(emitter: Emitter) -> str:
    """Return the ``producer`` of an emitter's events, which is also the ``_producer`` of its facets."""
    return f"https://github.com/headwater/headwater/tree/{VERSION}/emitter/{emitter}"


@cache
def facet_class(container: Container, name: str) -> Any:
    """Return openlineage-python's class of a facet; None if the installed release has no such class."""
    module, cls = CLASSES.get((container, name), ("", ""))
    if not module:
        return None
    try:
        return getattr(importlib.import_module(f"openlineage.client.generated.{module}"), cls, None)
    except ModuleNotFoundError:
        return None


@cache
def facet_schema(container: Container, name: str) -> str:
    """Return the ``_schemaURL`` of a facet: that of its class, or of the container's base facet where it has no class."""
    cls = facet_class(container, name)
    return base_schema(_BASE[container]) if cls is None else str(cls._get_schema())


@cache
def base_schema(name: str) -> str:
    """Return the schema address of a definition of OpenLineage.json, such as ``RunEvent`` or ``BaseFacet``."""
    return str(getattr(importlib.import_module("openlineage.client.generated.base"), name)._get_schema())


def own_schema(facet: str) -> str:
    """Return the schema address of a facet that headwater defines."""
    return f"urn:headwater:facets:1-0-0:{facet}"
