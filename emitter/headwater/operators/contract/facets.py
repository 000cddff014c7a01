"""Facets as operators spell them, brought to the spelling of the OpenLineage specification.

What the specification says of a facet is taken from openlineage-python's generated classes: names of members, which
of them are required, the address of the schema. So ``Size``, ``row_count`` and the seed's ``language`` of an error
message become ``size``, ``rowCount`` and ``programmingLanguage``, at any depth, and every facet leaves with
``_producer`` and ``_schemaURL``. Facets that the specification doesn't know pass with their members untouched.
"""

from __future__ import annotations

import importlib
import types
import typing
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeAlias

import attr

from .plain import plain

Container: TypeAlias = Literal["run", "job", "dataset", "input", "output"]
"""Where a facet stands; the same name may mean different facets in different containers."""

Facet: TypeAlias = dict[str, Any]
"""The members of a facet, as the specification spells them."""

_BASE = {
    "run": "RunFacet",
    "job": "JobFacet",
    "dataset": "DatasetFacet",
    "input": "InputDatasetFacet",
    "output": "OutputDatasetFacet",
}

# (container, facet name) -> module and class under openlineage.client.generated. Older releases lack some of them; a
# facet whose class is not there passes as an unknown one does.
_CLASSES: dict[tuple[Container, str], tuple[str, str]] = {
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

# Members that mean another one, by facet: the seed's example writes `language`, its text speaks of a "query id".
_ALIASES: dict[tuple[Container, str], dict[str, str]] = {
    ("run", "errorMessage"): {"language": "programmingLanguage"},
    ("run", "externalQuery"): {"queryid": "externalQueryId", "executionid": "externalQueryId"},
}
# Required members that the seed's examples leave out and that have one honest value.
_DEFAULTS: dict[tuple[Container, str], dict[str, object]] = {
    ("run", "errorMessage"): {"programmingLanguage": "python"},
    ("input", "dataQualityMetrics"): {"columnMetrics": {}},
}


def _release() -> str:
    try:
        return version("headwater")
    except PackageNotFoundError:
        return "unknown"


PRODUCER = f"https://github.com/headwater/headwater/tree/{_release()}/emitter/operators"
"""The ``producer`` of events, and the ``_producer`` of facets that name none."""


def read_facet(container: Container, name: str, facet: object) -> tuple[dict[str, Any] | None, list[str]]:
    """The facet as the specification spells it (None if it can't be used), and what was wrong with it."""
    members = plain(facet)
    if not isinstance(members, dict):
        return None, [f"{container} facet {name} is a {type(facet).__name__}, not an object: left out"]
    cls = _facet_class(container, name)
    if cls is None:
        return _signed(members, _base_schema(container)), []
    spelled = _respell(cls, members, _ALIASES.get((container, name), {}))
    complete = {**_DEFAULTS.get((container, name), {}), **spelled}
    missing = [] if complete.get("_deleted") is True else sorted(_required(cls) - complete.keys())
    if missing:
        return None, [f"{container} facet {name} lacks {', '.join(missing)}: left out"]
    return _signed(complete, cls._get_schema()), []


def read_facets(container: Container, facets: object) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """All facets of one container, by name, and what was wrong with them."""
    if facets is None:
        return {}, []
    if not isinstance(facets, Mapping):
        return {}, [f"{container} facets are a {type(facets).__name__}, not an object: left out"]
    read: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for name, facet in facets.items():
        members, faults = (None, []) if facet is None else read_facet(container, str(name), facet)
        problems += faults
        if members is not None:
            read[str(name)] = members
    return read, problems


def external_query(query_id: str, source: str) -> dict[str, Facet]:
    """The run facet ``externalQuery`` under its name: the query's id in the system that ran it, such as ``bigquery``
    (seed 003)."""
    return {"externalQuery": {"externalQueryId": query_id, "source": source}}


def _signed(members: dict[str, Any], schema_url: str) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": schema_url, **members}


@cache
def _facet_class(container: Container, name: str) -> Any:
    module, cls = _CLASSES.get((container, name), ("", ""))
    if not module:
        return None
    try:
        return getattr(importlib.import_module(f"openlineage.client.generated.{module}"), cls, None)
    except ModuleNotFoundError:
        return None


@cache
def _base_schema(container: Container) -> str:
    generated = importlib.import_module("openlineage.client.generated.base")
    return str(getattr(generated, _BASE[container])._get_schema())


def _canonical(member: str) -> str:
    return member.replace("_", "").replace("-", "").lower()


@cache
def _spellings(cls: Any) -> dict[str, str]:
    return {_canonical(each.name): each.name for each in attr.fields(cls) if not each.name.startswith("_")}


@cache
def _required(cls: Any) -> frozenset[str]:
    return frozenset(each.name for each in attr.fields(cls) if each.default is attr.NOTHING)


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _respell(cls: Any, members: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    spellings, hints = {**_spellings(cls), **aliases}, _hints(cls)
    spelled: dict[str, Any] = {}
    # A member spelled as the specification does wins over another spelling of it.
    for key, value in sorted(members.items(), key=lambda item: item[0] in hints):
        name = key if key.startswith("_") else spellings.get(_canonical(key), key)
        spelled[name] = _respell_value(hints.get(name), value)
    return spelled


def _respell_value(hint: Any, value: Any) -> Any:
    """The value with the members of every facet part in it respelled; keys that the user chose (columns) stay."""
    if hint is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(hint, type) and attr.has(hint):
        return _respell(hint, value, {}) if isinstance(value, dict) else value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is list and isinstance(value, list):
        return [_respell_value(arguments[0], each) for each in value]
    if origin is dict and isinstance(value, dict):
        return {key: _respell_value(arguments[1], each) for key, each in value.items()}
    if origin in (types.UnionType, typing.Union):
        parts = [each for each in arguments if each is not type(None)]
        return _respell_value(parts[0], value) if len(parts) == 1 else value
    return value
