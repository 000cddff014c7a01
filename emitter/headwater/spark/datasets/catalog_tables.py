"""Tables of DataSource V2 catalogs (Delta, Iceberg, JDBC, Kafka, Python data sources) as datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headwater_avro.errors import ConfigError

from ...operators.naming import dataset_name
from ..plan.model import Fields, struct_fields
from . import facets
from .jdbc_names import from_jdbc
from .names import DatasetName, from_kafka
from .systems import catalog_table, known_tables, texts, with_source
from .tables import Address, Catalog, Dataset, PlanScope, at_location, glue_table, symlink


def of_relation(at: PlanScope, held: Mapping[str, Any], fields: Fields) -> list[Dataset]:
    """Return the datasets of a ``DataSourceV2Relation``, by its fields (table, catalog, identifier, options)."""
    table = held.get("table") or {}
    reported = reported_key(table, fields)
    if reported is not None:
        return [reported]
    options = options_of(held.get("options"))
    class_name = str(table.get("class", ""))
    kind = class_name.rpartition(".")[2]
    if not isinstance(held.get("identifier"), Mapping):
        named = known_tables(at.catalog, class_name, texts(table.get("properties")) | options, fields, at.writes)
        if named:
            return named
    if kind.startswith("Kafka") or "kafka.bootstrap.servers" in options:
        return kafka(options, fields)
    if kind == "JDBCTable" or "dbtable" in options:
        return _jdbc_table(table, options, held, fields)
    if table.get("paths"):
        return [at_location(path, fields, str(table.get("format", "")).lower() or None) for path in table["paths"]]
    found = of_identifier(at.catalog, held.get("catalog"), held.get("identifier"), fields, table)
    return [] if found is None else [found]


def options_of(held: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the options of a reader or writer by their names in lower case, without maps among them."""
    return {str(k).lower(): str(v) for k, v in (held or {}).items() if not isinstance(v, Mapping)}


def reported_key(held: Mapping[str, Any], fields: Fields | None) -> Dataset | None:
    """Return the dataset whose key a relation or table reports itself (``jvm/Reported.java``), or None."""
    key = held.get("lineage")
    if not isinstance(key, Mapping) or not key.get("namespace") or not key.get("name"):
        return None
    return with_source(DatasetName(str(key["namespace"]), str(key["name"])), fields)


def _jdbc_table(
    table: Mapping[str, Any], options: Mapping[str, str], held: Mapping[str, Any], fields: Fields
) -> list[Dataset]:
    identifier = held.get("identifier") or {}
    name = ".".join(
        [*identifier.get("namespace", ()), str(identifier.get("name") or options.get("dbtable") or table.get("name"))]
    )
    return [jdbc(str(options.get("url", "")), name, fields)]


def jdbc(url: str, table: str, fields: Fields | None) -> Dataset:
    """Return the dataset of a database's table."""
    return with_source(from_jdbc(url, table), fields)


def kafka(options: Mapping[str, str], fields: Fields | None) -> list[Dataset]:
    """Return the topics that a reader subscribes to, or that a writer writes to."""
    topics = options.get("topic") or options.get("subscribe") or ""
    servers = options.get("kafka.bootstrap.servers", "")
    names = [from_kafka(servers, topic.strip()) for topic in topics.split(",") if topic.strip()]
    if "assign" in options:
        names += [from_kafka(servers, topic) for topic in _assigned(options["assign"])]
    if "subscribepattern" in options:
        names.append(from_kafka(servers, options["subscribepattern"]))
    return [with_source(name, fields) for name in names]


def _assigned(text: str) -> list[str]:
    return [part.split('"')[1] for part in text.split("]") if part.count('"') >= 2]


def of_identifier(
    catalog: Catalog, where: object, identifier: object, fields: Fields | None, table: Mapping[str, Any] | None = None
) -> Dataset | None:
    """Return the dataset of a table named by a catalog and an identifier.

    ``table`` is the known state of the table; without a location in it the catalog is queried. Without ``fields`` the
    columns are the catalog's.
    """
    if not isinstance(identifier, dict):
        return _by_properties(table, fields)
    named = where if isinstance(where, dict) else {}
    space, name = tuple(identifier.get("namespace") or ()), str(identifier.get("name"))
    catalog_name = str(named.get("name", ""))
    if belongs := catalog_table(catalog, named, space, name, fields):
        return belongs[0]
    located = table is not None and bool((table.get("properties") or {}).get("location"))
    known = (table if located else catalog.loaded(catalog_name, space, name)) or table or {}
    # The properties of a table that is read as of some time are the current ones; the snapshot is the one that is read.
    version = known.get("snapshot") or (known.get("properties") or {}).get("current-snapshot-id")
    location = _location(catalog, catalog_name, space, name, known)
    if location is None:
        unity = _unity_table(catalog, named, (catalog_name, *space, name))
        return None if unity is None else with_source(DatasetName(*unity), fields)
    version_facet = None if version in (None, "none") else facets.dataset_version(str(version))
    columns = fields if fields is not None else struct_fields((known.get("schema") or {}).get("$type")) or None
    found = at_location(location, columns, _provider(known, named)).having(version=version_facet)
    conf = catalog.catalog_conf(catalog_name)
    found = found.having(catalog=_catalog_facet(catalog_name, str(named.get("class", "")), conf))
    found = replace(found, address=Address(location, catalog_name, space, name))
    return found.having(symlinks=_symlink(catalog, named, conf, (*space, name)))


def _by_properties(table: Mapping[str, Any] | None, fields: Fields | None) -> Dataset | None:
    properties = (table or {}).get("properties") or {}
    location = properties.get("location")
    return at_location(str(location), fields, properties.get("provider")) if location else None


def _provider(known: Mapping[str, Any], named: Mapping[str, Any]) -> str | None:
    provider = (known.get("properties") or {}).get("provider")
    if provider:
        return str(provider)
    return "iceberg" if ".iceberg." in str(named.get("class", "")) else None


def _location(catalog: Catalog, where: str, space: tuple[str, ...], name: str, known: Mapping[str, Any]) -> str | None:
    location = (known.get("properties") or {}).get("location") or known.get("location")
    if location:
        return str(location)
    if where in ("", "spark_catalog"):
        database = space[-1] if space else None
        table = catalog.table(database, name)
        return (table or {}).get("location") or catalog.default_location(database, name)
    warehouse = catalog.catalog_conf(where).get("warehouse")
    return None if warehouse is None else "/".join((warehouse.rstrip("/"), *space, name))


def _symlink(
    catalog: Catalog, where: Mapping[str, Any], conf: Mapping[str, str], parts: tuple[str, ...]
) -> facets.Facet | None:
    catalog_name, table = str(where.get("name", "")), ".".join(parts)
    unity = _unity_table(catalog, where, (catalog_name, *parts))
    if unity is not None:
        return facets.table_symlink(*unity)
    if catalog_name in ("", "spark_catalog"):
        return symlink(table, catalog)
    if _is_glue(conf):
        glue = _glue_catalog(catalog, conf)
        return None if glue is None else facets.table_symlink(*glue_table(glue, table))
    address = conf.get("uri") or conf.get("warehouse")
    if address is None:
        return None
    remote = "://" in address and not address.startswith("file:")
    return facets.table_symlink(address.replace("thrift://", "hive://") if remote else _folder(address), table)


def _is_glue(conf: Mapping[str, str]) -> bool:
    return conf.get("type") == "glue" or conf.get("catalog-impl", "").endswith(".GlueCatalog")


def _glue_catalog(catalog: Catalog, conf: Mapping[str, str]) -> str | None:
    """Return the ARN of an Iceberg catalog in AWS Glue: what the catalog's settings name counts before the session's."""
    *_, region, account = (catalog.glue or ":").split(":")
    region, account = conf.get("client.region") or region, conf.get("glue.id") or account
    return f"arn:aws:glue:{region}:{account}" if region and account else None


def _unity_table(catalog: Catalog, where: Mapping[str, Any], parts: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the key of a table in Unity Catalog; None for another catalog, or without a known server."""
    if not str(where.get("class", "")).startswith(_UNITY):
        return None
    workspace = catalog.settings("spark.databricks.workspaceUrl").get("spark.databricks.workspaceUrl")
    server = catalog.catalog_conf(parts[0]).get("uri") or workspace or ""
    host = server.partition("://")[2] or server
    try:
        return dataset_name("unitycatalog", host.split("/")[0], parts)
    except ConfigError:
        return None


_UNITY = ("io.unitycatalog.spark.", "com.databricks.sql.managedcatalog.")


def _catalog_facet(name: str, class_name: str, conf: Mapping[str, str]) -> facets.Facet | None:
    if class_name.startswith(_UNITY):
        return facets.catalog("delta", "unity", name, None, conf.get("uri"))
    if ".delta." in class_name:
        return facets.catalog("delta", "delta", name)
    if ".iceberg." not in class_name:
        return None
    kind = (
        "glue" if _is_glue(conf) else conf.get("type") or ("rest" if conf.get("uri", "").startswith("http") else "hive")
    )
    return facets.catalog("iceberg", kind, name, conf.get("warehouse"), conf.get("uri"))


def _folder(warehouse: str) -> str:
    path = warehouse.removeprefix("file:").replace("//", "/")
    return f"file:{path.rstrip('/')}"
