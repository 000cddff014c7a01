"""Sources and sinks that are known by name: a table from the classes of a connector to the rule that reads its options.

Pure except for the ``Catalog`` port. Keys are those of OpenLineage's naming page; MongoDB and Elasticsearch, which the page
does not have, are named in the same way. Without an option that the key needs, the connector is one that is not known
(``connectors.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from headwater_avro.errors import ConfigError

from ...operators.naming import dataset_name
from . import facets
from .jdbc_names import from_jdbc
from .jdbc_query import query_of, tables_of
from .names import DatasetName
from .tables import Catalog, Dataset, at_location

Options = Mapping[str, str]
"""A connector's options, by key in lower case."""
Naming = Callable[[str], tuple[str, str]]
"""A function from a table's name to its key; raises ``ConfigError`` for a name without the parts that the key needs."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The tables that a connector reads or writes: names, or a query in brackets, and the function that makes their keys."""

    tables: tuple[str, ...]
    key: Naming

    def keys(self, catalog: Catalog) -> list[DatasetName]:
        """Return the keys of the tables, of a query those that it names."""
        found = (name for table in self.tables for name in _names_in(catalog, table))
        return [key for name in found if (key := self.key_of(name)) is not None]

    def key_of(self, table: str) -> DatasetName | None:
        """Return the key of a table; None if its name lacks a part."""
        try:
            return DatasetName(*self.key(table))
        except ConfigError:
            return None

    def query(self) -> str | None:
        """Return the query in brackets, or None."""
        return next((table for table in self.tables if query_of(table) is not None), None)


def _names_in(catalog: Catalog, table: str) -> list[str]:
    named = tables_of(catalog, table)
    return named if named is not None else [] if query_of(table) is not None else [table]


@dataclass(frozen=True, slots=True)
class _System:
    """A connector: the beginnings of its classes' names, its short names, and the rule that reads its options.

    ``tables`` returns None where an option is missing; of a connector of files it is None, and ``files`` is their format.
    ``settings`` are the beginnings of the session's settings that are options, too. ``optional`` are beginnings of an option's
    name that may be left out.
    """

    classes: tuple[str, ...]
    names: tuple[str, ...]
    tables: Callable[[Options], Sent | None] | None
    files: str = ""
    settings: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


def known_tables(
    catalog: Catalog, kind: str, options: Options, fields: list[dict[str, Any]] | None, writes: bool = False
) -> list[Dataset]:
    """Return the datasets of a connector by its class or short name; nothing if it is not known by name."""
    system = _system(kind)
    if system is None:
        return []
    if system.tables is None:
        path = options.get("path")
        return [at_location(path, fields, system.files)] if path else []
    sent = _sent(catalog, system, options, writes)
    if sent is None:
        return []
    fields = None if sent.query() is not None else fields
    return [with_source(key, fields) for key in sent.keys(catalog)]


def catalog_table(
    catalog: Catalog, where: Mapping[str, Any], space: tuple[str, ...], name: str, fields: list[dict[str, Any]] | None
) -> list[Dataset]:
    """Return the dataset of a table in a catalog that belongs to a connector; nothing for any other catalog."""
    kind = str(where.get("class", ""))
    if _system(kind) is None or not space:
        return []
    options = {key.lower(): value for key, value in catalog.catalog_conf(str(where.get("name", ""))).items()}
    above = dict.fromkeys(("database", "keyspace", "dataset", "sfschema"), space[-1])
    above |= {"project": space[-2]} if len(space) > 1 else {}
    return known_tables(catalog, kind, {**options, **above, "table": name, "collection": name}, fields)


def sent_query(catalog: Catalog, relation: Mapping[str, Any]) -> Sent | None:
    """Return the query that a relation sends to its database; None for a relation that is a table."""
    if relation.get("$") == "jdbc":
        sent: Sent | None = Sent((str(relation["table"]),), partial(from_jdbc, str(relation["url"])))
    else:
        system = _system(str(relation.get("class", "")))
        sent = None if system is None else _sent(catalog, system, texts(relation), writes=False)
    return sent if sent is not None and sent.query() is not None else None


def _system(kind: str) -> _System | None:
    return next((s for s in _SYSTEMS if kind.lower() in s.names or kind.startswith(s.classes)), None)


def _sent(catalog: Catalog, system: _System, options: Options, writes: bool) -> Sent | None:
    if system.tables is None:
        return None
    held = {key: value for start in system.settings for key, value in catalog.settings(start).items()}
    side = ("write.", "output.", "") if writes else ("read.", "input.", "")
    plain: dict[str, str] = {}
    for given in (options, held):  # an option counts before a setting, that of a side before one for both
        for prefix in side:
            for key, value in _without(given, system.optional).items():
                if key.startswith(prefix) and value:
                    plain.setdefault(key[len(prefix) :], value)
    return system.tables(plain)


def _without(options: Options, beginnings: tuple[str, ...]) -> dict[str, str]:
    """Return options by their keys in lower case, without the first of some beginnings that a key has."""
    found = {}
    for key, value in options.items():
        start = next((start for start in beginnings if key.lower().startswith(start)), "")
        found[key.lower()[len(start) :]] = value
    return found


def with_source(name: DatasetName, fields: list[dict[str, Any]] | None) -> Dataset:
    """Return the dataset of a key, with its namespace as its source."""
    return Dataset(*name, facets.data_source(name.namespace)).having(schema=facets.schema(fields))


def texts(held: object) -> dict[str, str]:
    """Return the texts in a map of options, those of maps in it included, by key in lower case."""
    found: dict[str, str] = {}
    for key, value in held.items() if isinstance(held, Mapping) else ():
        if isinstance(value, Mapping):
            found = {**texts(value), **found}
        elif isinstance(value, str) and key not in ("$", "class"):
            found[str(key).lower()] = value
    return found


def _first(options: Options, *keys: str) -> str:
    return next((options[key] for key in keys if options.get(key)), "")


def _table_or_query(options: Options, *keys: str) -> tuple[str, ...]:
    """Return the table in the first of some options, else the query, in brackets."""
    table, query = _first(options, *keys), _first(options, "query")
    if _QUERY.match(table):
        table, query = "", table
    return (table,) if table else (f"({query.rstrip().rstrip(';')}) q",) if query else ()


_QUERY = re.compile(r"\s*(?:select|with)\s", re.IGNORECASE)
_PART = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|[^.]+')


def _qualified(table: str, *above: str) -> tuple[str, ...]:
    """Return the parts of a table's name, after those of ``above`` that it leaves out."""
    parts = tuple(part.strip("`") if part[0] == "`" else _unquoted(part) for part in _PART.findall(table))
    return (*above[: max(0, len(above) + 1 - len(parts))], *parts)


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def _servers(options: Options, hosts: str, port: str, default: str) -> str:
    """Return the first of several servers as ``host:port``."""
    first = _first(options, hosts).split(",")[0].strip() or "localhost"
    host = re.sub(r"^[a-z]+://|[/?].*$", "", first.rpartition("@")[2])
    return host if re.search(r":\d+$", host) else f"{host}:{_first(options, port) or default}"


def _snowflake(options: Options) -> Sent:
    host = re.sub(r"^[a-z]+://|[:/].*$", "", _first(options, "sfurl", "sfaccount").lower())
    above = _first(options, "sfdatabase"), _first(options, "sfschema") or "PUBLIC"
    tables = _table_or_query(options, "dbtable", "table")
    return Sent(tables, lambda table: dataset_name("snowflake", host, _qualified(table, *above)))


def _bigquery(options: Options) -> Sent:
    above = _first(options, "project", "projectid", "parentproject"), _first(options, "dataset")
    # A relation has the name of its table, which has the project; of a query it is a table for this read alone.
    keys = ("table", "path") if options.get("query") else ("tablename", "table", "path")
    tables = tuple(_BIGQUERY_PART.sub("", table) for table in _table_or_query(options, *keys))

    def key(table: str) -> tuple[str, str]:
        return dataset_name("bigquery", "", _qualified(table.replace(":", ".", 1).replace("`", ""), *above))

    return Sent(tables, key)


_BIGQUERY_PART = re.compile(r"\$\d+\Z")  # `table$20260101` is a partition of the table


def _mongodb(options: Options) -> Sent | None:
    # A relation of the first API (3.x) has what its options and the session's settings result in.
    found = _MONGODB_URI.match(_first(options, "connectionstring", "connection.uri", "uri") or "mongodb://localhost")
    if found is None:
        return None
    database = _first(options, "databasename", "database") or found["database"] or ""
    collections = _first(options, "collectionname", "collection") or found["collection"] or ""
    names = tuple(name for part in collections.split(",") if (name := part.strip()))
    return Sent(names, lambda name: dataset_name("mongodb", found["hosts"], (database, name)))


_MONGODB_URI = re.compile(
    r"mongodb(?:\+srv)?://(?:[^@/]*@)?(?P<hosts>[^/?]+)(?:/(?P<database>[^.?]*)(?:\.(?P<collection>[^?]*))?)?"
)


def _cassandra(options: Options) -> Sent:
    keyspace, table = _first(options, "keyspace"), _first(options, "table")
    server = _servers(options, "spark.cassandra.connection.host", "spark.cassandra.connection.port", "9042")
    return Sent((table,) if table else (), lambda name: dataset_name("cassandra", server, (keyspace, name)))


def _elasticsearch(options: Options) -> Sent:
    server = _servers(options, "nodes", "port", "9200")
    indices = _first(options, "resource.write", "resource.read", "resource", "path").split("/")[0]
    names = tuple(name for part in indices.split(",") if (name := part.strip()))
    return Sent(names, lambda name: dataset_name("elasticsearch", server, (name,)))


def _redshift(options: Options) -> Sent | None:
    url = _first(options, "url")
    return Sent(_table_or_query(options, "dbtable"), partial(from_jdbc, url)) if url else None


_SYSTEMS = (
    _System(("net.snowflake.spark.",), ("snowflake",), _snowflake),
    _System(
        ("com.google.cloud.spark.bigquery.",),
        ("bigquery", "com.google.cloud.spark.bigquery"),
        _bigquery,
        settings=("spark.datasource.bigquery.",),
        optional=("spark.datasource.bigquery.",),
    ),
    _System(
        ("com.mongodb.spark.sql.",),
        ("mongodb", "mongo"),
        _mongodb,
        settings=("spark.mongodb.",),
        optional=("spark.mongodb.",),
    ),
    _System(
        ("com.datastax.spark.connector.", "org.apache.spark.sql.cassandra."),
        ("org.apache.spark.sql.cassandra", "cassandra"),
        _cassandra,
        settings=("spark.cassandra.",),
    ),
    _System(
        ("org.elasticsearch.spark.",),
        ("es", "org.elasticsearch.spark.sql", "elasticsearch"),
        _elasticsearch,
        settings=("spark.es.", "es."),
        optional=("spark.es.", "es."),
    ),
    _System(
        ("io.github.spark_redshift_community.spark.redshift.", "com.databricks.spark.redshift."),
        ("redshift", "io.github.spark_redshift_community.spark.redshift", "com.databricks.spark.redshift"),
        _redshift,
    ),
    _System(("org.apache.hudi.",), ("hudi", "org.apache.hudi"), None, files="hudi"),
)
"""The connectors, of which no beginning of a class's name is that of another."""
