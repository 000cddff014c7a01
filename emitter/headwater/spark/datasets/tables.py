"""Datasets as values, and the naming of tables: by their location, with the table's own name as a symlink.

Pure but for the ``Catalog`` port, which is asked about tables that a plan only names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..plan.model import Plan, PlanNode, struct_fields
from . import facets
from .commits import Commit
from .facets import Facet
from .names import DatasetName, from_location, partition_of


@dataclass(frozen=True, slots=True)
class Address:
    """Where Spark finds a table or folder: its location as Spark spells it, and its place in a catalog if it has one."""

    location: str
    catalog: str = ""
    namespace: tuple[str, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset with its facets; ``run_facets`` are its inputFacets or outputFacets.

    ``partitions`` names the folders of it that are read or written; empty where it is not only some of them.
    """

    namespace: str
    name: str
    facets: Mapping[str, Facet] = field(default_factory=dict)
    run_facets: Mapping[str, Facet] = field(default_factory=dict)
    address: Address | None = field(default=None, compare=False)
    partitions: tuple[str, ...] = ()

    @property
    def key(self) -> DatasetName:
        """What identifies it."""
        return DatasetName(self.namespace, self.name)

    def having(self, **more: Facet | None) -> Dataset:
        """The same dataset with more facets; those that are None are left out."""
        return replace(self, facets={**self.facets, **{k: v for k, v in more.items() if v is not None}})

    def without(self, facet: str) -> Dataset:
        """The same dataset without a facet."""
        return replace(self, facets={k: v for k, v in self.facets.items() if k != facet})


class Catalog(Protocol):
    """The catalogs of the session, as far as names need them; tables as ``jvm/PlanReader.java`` writes them."""

    @property
    def warehouse(self) -> str | None:
        """Where managed tables of the session catalog live."""
        ...

    @property
    def metastore(self) -> str | None:
        """The Hive metastore's address in OpenLineage's form, where there is one."""
        ...

    @property
    def hive(self) -> bool:
        """Whether the session catalog is Hive's."""
        ...

    @property
    def case_sensitive(self) -> bool:
        """Whether tables whose names differ in case alone are two."""
        ...

    def table(self, database: str | None, table: str) -> Mapping[str, Any] | None:
        """A table of the session catalog as it is now, or None."""
        ...

    def default_location(self, database: str | None, table: str) -> str | None:
        """Where a managed table of this name lives."""
        ...

    def current_database(self) -> str:
        """The database of names without one."""
        ...

    def loaded(self, catalog: str, namespace: tuple[str, ...], table: str) -> Mapping[str, Any] | None:
        """A table of another catalog as it is now, or None."""
        ...

    def catalog_conf(self, catalog: str) -> Mapping[str, str]:
        """The settings ``spark.sql.catalog.<catalog>.*`` without that prefix."""
        ...

    def committed(self, table: Address, file_format: str, first: int, last: int) -> Commit | None:
        """The newest version of a Delta or Iceberg table that was made between two times (ms since 1970), if any was."""
        ...

    def parse(self, sql: str) -> Plan | None:
        """A query as Spark's parser reads it, unresolved; None where it can't."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """One plan being read, and the catalogs behind it."""

    plan: Plan
    catalog: Catalog

    def held(self, raw: object) -> PlanNode | None:
        """The plan node that a field's value points to."""
        return self.plan[int(raw["$plan"])] if isinstance(raw, dict) and "$plan" in raw else None


def at_location(location: str, fields: list[dict[str, Any]] | None, file_format: str | None = None) -> Dataset:
    """A file or folder."""
    name = from_location(location)
    source = {"dataSource": facets.data_source(name.namespace)}
    partition = partition_of(location)
    parts = () if partition is None else (partition,)
    return Dataset(name.namespace, name.name, source, address=Address(location), partitions=parts).having(
        schema=facets.schema(fields),
        storage=None if file_format is None else facets.storage("file", file_format),
    )


def of_table(table: Mapping[str, Any], catalog: Catalog, fields: list[dict[str, Any]] | None = None) -> Dataset | None:
    """A table of the session catalog; ``fields`` is its schema where the catalog doesn't know it yet."""
    identifier = table["identifier"]
    database = identifier["database"] or catalog.current_database()
    name = f"{database}.{identifier['table']}"
    location = table["location"] or catalog.default_location(database, identifier["table"])
    if location is None:
        return None
    told = struct_fields(table["schema"]) or fields or []
    return at_location(location, told, table.get("provider")).having(
        symlinks=symlink(location, name if catalog.case_sensitive else name.lower(), catalog),
        catalog=_catalog_facet(catalog, table.get("provider")),
    )


def _catalog_facet(catalog: Catalog, provider: object) -> Facet | None:
    """Hive's catalog, or Delta's in the session catalog's place; Spark's own in memory is none that others could ask."""
    if provider == "delta":
        return facets.catalog("delta", "delta", "spark_catalog", None, None)
    if not catalog.hive:
        return None
    return facets.catalog("hive", "hive", "default", catalog.warehouse, catalog.metastore)


def symlink(location: str, table: str, catalog: Catalog) -> Facet | None:
    """The table's own name: in the metastore, else in the warehouse folder; outside of both it leads nowhere."""
    namespace = catalog.metastore
    if namespace is None and catalog.warehouse is not None:
        namespace = _inside(location, catalog.warehouse)
    return None if namespace is None else facets.symlinks([(namespace, table, "TABLE")])


def _inside(location: str, warehouse: str) -> str | None:
    home, place = from_location(warehouse), from_location(location)
    if place.namespace != home.namespace or not place.name.startswith(home.name.rstrip("/") + "/"):
        return None
    return f"{home.namespace}:{home.name}" if "://" not in home.namespace else f"{home.namespace}/{home.name}"


def with_commit(dataset: Dataset, catalog: Catalog, first: int, last: int) -> Dataset:
    """The dataset with the version that a write made of it in a span of time (ms since 1970), where its format has some.

    What the format counted of that write are its statistics.
    """
    file_format = dataset.facets.get("storage", {}).get("fileFormat")
    if dataset.address is None or file_format not in _VERSIONED:
        return dataset
    made = catalog.committed(dataset.address, file_format, first, last)
    if made is None:
        return dataset
    told = dataset.having(version=facets.dataset_version(made.version))
    if made.rows is None and made.size is None and made.files is None:
        return told
    counted = facets.output_statistics(made.rows, made.size, made.files)
    return replace(told, run_facets={"outputStatistics": counted, **told.run_facets})


_VERSIONED = frozenset({"delta", "iceberg"})


def unique(found: Iterable[Dataset]) -> list[Dataset]:
    """Each dataset once, the first one stays."""
    kept: dict[DatasetName, Dataset] = {}
    for one in found:
        before = kept.setdefault(one.key, one)
        kept[one.key] = replace(before, partitions=_partitions(before, one))
    return list(kept.values())


def _partitions(one: Dataset, other: Dataset) -> tuple[str, ...]:
    if not one.partitions or not other.partitions:
        return ()
    return tuple(dict.fromkeys((*one.partitions, *other.partitions)))


def merged(datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
    """Each dataset once, its facets united, a later one replacing an earlier of the same name (SPEC 1.6)."""
    kept: dict[DatasetName, Dataset] = {}
    for one in datasets:
        before = kept.get(one.key)
        if before is not None:
            both, run = {**before.facets, **one.facets}, {**before.run_facets, **one.run_facets}
            one = replace(one, facets=both, run_facets=run, partitions=_partitions(before, one))
        kept[one.key] = one
    return tuple(kept.values())
