"""Inlets and outlets: datasets that the author of a workflow declared for a task, in the scheduler's own form.

They are read by attributes, not by class: an object with ``namespace`` and ``name`` is a dataset, one with ``uri`` an Airflow
asset, one with ``url`` a file, one with ``cluster``, ``database`` and ``name`` a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from headwater_avro.errors import ConfigError

from ..naming import DatasetName, dataset_name
from .task_lineage import DatasetLike, InputDataset, TaskInstanceLineage, dataset_key

# URI schemes whose path consists of the parts of a name (database/schema/table).
_TABLE_SCHEMES = frozenset(
    {"postgres", "postgresql", "mysql", "mssql", "oracle", "trino", "redshift", "teradata", "hive"}
)


def annotated_lineage(
    inlets: Iterable[object], outlets: Iterable[object], runtime_outlets: Iterable[object] = ()
) -> TaskInstanceLineage:
    """Return the declared datasets; of equal ones on one side only the first, static outlets before those of the run."""
    return TaskInstanceLineage(_datasets(inlets), _datasets([*outlets, *runtime_outlets]))


def _datasets(annotations: Iterable[object]) -> list[DatasetLike]:
    found: dict[tuple[str, str], DatasetLike] = {}
    for annotation in annotations:
        dataset = annotated_dataset(annotation)
        if dataset is not None:
            found.setdefault(dataset_key(dataset), dataset)
    return list(found.values())


def annotated_dataset(annotation: Any) -> DatasetLike | None:
    """Return the dataset of an inlet or outlet; None if it has no name in the OpenLineage specification."""
    if isinstance(annotation, Mapping):
        return annotation if {"namespace", "name"} <= annotation.keys() else None
    if hasattr(annotation, "namespace") and hasattr(annotation, "name"):
        return annotation  # type: ignore[no-any-return]  # a structural HasDatasetKey
    if hasattr(annotation, "cluster") and hasattr(annotation, "database"):
        return _table(annotation)
    uri = getattr(annotation, "uri", None) or getattr(annotation, "url", None)
    name = dataset_of_uri(uri) if isinstance(uri, str) else None
    return None if name is None else InputDataset(name.namespace, name.name)


def dataset_of_uri(uri: str) -> DatasetName | None:
    """Return the dataset of a URI (``s3://bucket/key``, ``postgres://host/db/schema/table``), or None."""
    split = urlsplit(uri)
    path = unquote(split.path).strip("/")
    if not split.scheme or not path:
        return None
    try:
        if split.scheme == "file":
            return dataset_name("file", split.netloc, "/" + path)
        parts: str | tuple[str, ...] = tuple(path.split("/")) if split.scheme in _TABLE_SCHEMES else path
        if split.scheme == "bigquery":
            return dataset_name("bigquery", "", (split.netloc, *path.split("/")))
        return dataset_name(split.scheme, split.netloc, parts)
    except ConfigError:
        return None


def _table(table: Any) -> InputDataset:
    columns = [
        {
            "name": column.name,
            "type": getattr(column, "data_type", None),
            "description": getattr(column, "description", None),
        }
        for column in getattr(table, "columns", None) or ()
    ]
    owners = [{"name": _owner(user)} for user in getattr(table, "owners", None) or ()]
    description = getattr(table, "description", None)
    facets = {
        "schema": {"fields": columns} if columns else None,
        "ownership": {"owners": owners} if owners else None,
        "documentation": {"description": description} if description else None,
    }
    return InputDataset(
        f"{table.cluster}", f"{table.database}.{table.name}", {key: facet for key, facet in facets.items() if facet}
    )


def _owner(user: Any) -> str:
    names = [str(name) for name in (getattr(user, "first_name", None), getattr(user, "last_name", None)) if name]
    return "user:" + " ".join([*names, f"<{user.email}>"])
