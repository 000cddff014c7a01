"""Datasets as values, and the naming of tables: by their location, with the table's own name as a symlink.

Pure except for the ``Catalog`` port, which is queried for tables that a plan only names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..plan.model import Fields, Plan, PlanNode, plan_index, struct_fields
from . import facets
from .commits import Commit
from .facets import Facet
from .jdbc_names import from_jdbc
from .names import DatasetName, from_location, partition_of


@dataclass(frozen=True, slots=True)
class Address:
    """The location of a table or folder as Spark spells it, and its identifier in a catalog if it has one."""

    location: str
    catalog: str = ""
    namespace: tuple[str, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset with its facets; ``run_facets`` are its inputFacets or outputFacets.

    ``partitions`` names the folders that are read or written; empty where the whole dataset is. ``dynamic`` are the columns
    that an output is partitioned by, as far as they are known, if the write replaces only the partitions that it has rows
    for; None for any other dataset.
    """

    namespace: str
    name: str
    facets: Mapping[str, Facet] = field(default_factory=dict)
    run_facets: Mapping[str, Facet] = field(default_factory=dict)
    address: Address | None = field(default=None, compare=False)
    partitions: tuple[str, ...] = ()
    dynamic: tuple[str, ...] | None = None

    @property
    def key(self) -> DatasetName:
        """Return the dataset's key."""
        return DatasetName(self.namespace, self.name)

    def having(self, **more: Facet | None) -> Dataset:
        """Return the dataset with more facets; those that are None are left out."""
        return replace(self, facets={**self.facets, **{k: v for k, v in more.items() if v is not None}})

    def having_run_facet(self, name: str, facet: Facet) -> Dataset:
        """Return the dataset with one more of its inputFacets or outputFacets."""
        return replace(self, run_facets={**self.run_facets, name: facet})

    def without(self, facet: str) -> Dataset:
        """Return the dataset without a facet."""
        return replace(self, facets={k: v for k, v in self.facets.items() if k != facet})


class Catalog(Protocol):
    """The catalogs of the session, as far as names need them; tables have the form that ``jvm/PlanReader.java`` writes."""

    @property
    def warehouse(self) -> str | None:
        """Return the location of the session catalog's managed tables."""

    @property
    def metastore(self) -> str | None:
        """Return the Hive metastore's address in OpenLineage's form, if there is one."""

    @property
    def hive(self) -> bool:
        """Return whether the session catalog is Hive's."""

    @property
    def case_sensitive(self) -> bool:
        """Return whether table names are case-sensitive."""

    def table(self, database: str | None, table: str) -> Mapping[str, Any] | None:
        """Return the current state of a table of the session catalog, or None."""

    def default_location(self, database: str | None, table: str) -> str | None:
        """Return the location of a managed table of this name."""

    def current_database(self) -> str:
        """Return the database of names without one."""

    def loaded(self, catalog: str, namespace: tuple[str, ...], table: str) -> Mapping[str, Any] | None:
        """Return the current state of a table of another catalog, or None."""

    @property
    def glue(self) -> str | None:
        """Return the ARN of the AWS Glue catalog (``arn:aws:glue:region:account``), if the account and region are known."""

    def settings(self, start: str) -> Mapping[str, str]:
        """Return the session's settings whose names begin with ``start``."""

    def catalog_conf(self, catalog: str) -> Mapping[str, str]:
        """Return the settings ``spark.sql.catalog.<catalog>.*`` without that prefix."""

    def committed(self, table: Address, file_format: str, first: int, last: int) -> Commit | None:
        """Return the newest version of a Delta or Iceberg table committed between two times (ms since 1970), or None."""

    def written_partitions(
        self, table: Address, file_format: str, depth: int, first: int, last: int
    ) -> tuple[Mapping[str, str], ...]:
        """Return the partitions that were written between two times, by their columns; nothing if too many.

        Of a Delta or Iceberg table they are those of the commit, else those of the folders, ``depth`` levels deep, with files
        from that time.
        """

    def parse(self, sql: str) -> Plan | None:
        """Return the unresolved plan of a query; None if Spark cannot parse it."""


@dataclass(frozen=True, slots=True)
class PlanScope:
    """A plan and the catalogs behind it: the context of the rules that read plan nodes.

    ``writes`` is whether the table of a relation is written into.
    """

    plan: Plan
    catalog: Catalog
    writes: bool = False

    def plan_of(self, raw: object) -> PlanNode | None:
        """Return the plan node that a field's value refers to, or None."""
        index = plan_index(raw)
        return None if index is None else self.plan[index]


def at_location(location: str, fields: Fields | None, file_format: str | None = None) -> Dataset:
    """Return the dataset of a file or folder."""
    name = from_location(location)
    partition = partition_of(location)
    return Dataset(
        *name,
        facets.data_source(name.namespace),
        address=Address(location),
        partitions=() if partition is None else (partition,),
    ).having(
        schema=facets.schema(fields),
        storage=None if file_format is None else facets.storage(file_format),
    )


def of_table(table: Mapping[str, Any], catalog: Catalog, fields: Fields | None = None) -> Dataset | None:
    """Return the dataset of a session catalog's table; ``fields`` is the schema where the catalog does not have it yet."""
    identifier = table["identifier"]
    database = identifier["database"] or catalog.current_database()
    name = f"{database}.{identifier['table']}"
    columns = struct_fields(table["schema"]) or fields or []
    if is_jdbc(table):
        key = from_jdbc(str(table["options"]["url"]), str(table["options"]["dbtable"]))
        found = Dataset(*key, facets.data_source(key.namespace)).having(schema=facets.schema(columns))
        return found.having(symlinks=symlink(name if catalog.case_sensitive else name.lower(), catalog))
    location = table["location"] or catalog.default_location(database, identifier["table"])
    if location is None:
        return None
    return at_location(location, columns, table.get("provider")).having(
        symlinks=symlink(name if catalog.case_sensitive else name.lower(), catalog),
        catalog=_catalog_facet(catalog, table.get("provider")),
    )


def is_jdbc(table: Mapping[str, Any]) -> bool:
    """Return whether a table of the session catalog only represents a table of a database."""
    options = table.get("options") or {}
    return bool(options.get("url") and options.get("dbtable"))


def _catalog_facet(catalog: Catalog, provider: object) -> Facet | None:
    """Return the facet of Hive's catalog, or of Delta's in its place; Spark's in-memory catalog is private to the process."""
    if provider == "delta":
        return facets.catalog("delta", "delta", "spark_catalog")
    if not catalog.hive:
        return None
    kind = "glue" if _is_glue(catalog) else "hive"
    return facets.catalog("hive", kind, "default", catalog.warehouse, catalog.metastore)


def symlink(table: str, catalog: Catalog) -> Facet | None:
    """Return the symlinks facet with the table's name in the metastore, else in the warehouse; None without both."""
    if catalog.glue is not None and _is_glue(catalog):
        return facets.table_symlink(*glue_table(catalog.glue, table))
    namespace = catalog.metastore
    if (
        namespace is None and catalog.warehouse is not None and "/" not in table
    ):  # delta.`/folder` is not a table's name
        namespace = _folder_of_tables(catalog.warehouse)
    return None if namespace is None else facets.table_symlink(namespace, table)


def _is_glue(catalog: Catalog) -> bool:
    """Return whether Hive's catalog is AWS Glue's."""
    setting = "hive.metastore.client.factory.class"
    clients = (*catalog.settings(f"spark.hadoop.{setting}").values(), *catalog.settings(setting).values())
    return catalog.hive and any("AWSGlue" in client for client in clients)


def glue_table(catalog: str, table: str) -> tuple[str, str]:
    """Return the key of a table in an AWS Glue catalog."""
    return catalog, f"table/{table.replace('.', '/')}"


def _folder_of_tables(warehouse: str) -> str:
    root = from_location(warehouse)
    return f"{root.namespace}:{root.name}" if "://" not in root.namespace else f"{root.namespace}/{root.name}"


def with_commit(dataset: Dataset, catalog: Catalog, first: int, last: int) -> Dataset:
    """Return the dataset with the version that was committed between two times (ms since 1970), if its format has versions.

    The counters of that commit are the output's statistics. A table that is replaced by its first commit is created.
    """
    file_format = dataset.facets.get("storage", {}).get("fileFormat")
    if dataset.address is None or file_format not in _VERSIONED:
        return dataset
    commit = catalog.committed(dataset.address, file_format, first, last)
    if commit is None:
        return dataset
    dataset = dataset.having(version=facets.dataset_version(commit.version))
    if commit.is_first and dataset.facets.get("lifecycleStateChange", {}).get("lifecycleStateChange") == "OVERWRITE":
        dataset = dataset.having(lifecycleStateChange=facets.lifecycle("CREATE"))
    if commit.rows is None and commit.size is None and commit.files is None:
        return dataset
    statistics = facets.output_statistics(commit.rows, commit.size, commit.files)
    return replace(dataset, run_facets={"outputStatistics": statistics, **dataset.run_facets})


_VERSIONED = frozenset({"delta", "iceberg"})


def unique(found: Iterable[Dataset]) -> list[Dataset]:
    """Return each dataset once, as it is found first."""
    datasets: dict[DatasetName, Dataset] = {}
    for dataset in found:
        first = datasets.setdefault(dataset.key, dataset)
        datasets[dataset.key] = replace(first, partitions=_partitions(first, dataset))
    return list(datasets.values())


def _partitions(first: Dataset, second: Dataset) -> tuple[str, ...]:
    if not first.partitions or not second.partitions:
        return ()
    return tuple(dict.fromkeys((*first.partitions, *second.partitions)))


def merged(datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
    """Return each dataset once, with the facets of all; a later facet replaces an earlier one (specification 1.6)."""
    found: dict[DatasetName, Dataset] = {}
    for dataset in datasets:
        first = found.get(dataset.key)
        if first is not None:
            dataset = replace(
                dataset,
                facets={**first.facets, **dataset.facets},
                run_facets={**first.run_facets, **dataset.run_facets},
                partitions=_partitions(first, dataset),
            )
        found[dataset.key] = dataset
    return tuple(found.values())
