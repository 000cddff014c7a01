"""Namespaces and names of datasets by platform, authority and path, with the rules of OpenLineage's naming page.

``dataset_name("postgres", "db.example.org:5432", "shop.public.orders")``. The authority is the platform's address (host
and port, bucket, account, region); credentials in it are removed and a missing port is the platform's default, so that
different spellings of an address are one namespace. The path is the full name of the table, or the key of the file.

``openlineage.client.naming`` formats parts that are already separated. It neither removes credentials nor adds default
ports, so the table below is not written with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import NamedTuple, TypeAlias

from headwater_avro.errors import ConfigError


class DatasetName(NamedTuple):
    """The key of a dataset."""

    namespace: str
    name: str


Namespace: TypeAlias = Callable[[str], str]
"""A function from an authority without credentials to a namespace; raises ``ConfigError`` for an unreadable authority."""


@dataclass(frozen=True, slots=True)
class Platform:
    """The naming rule of a platform: its namespace, and the format ``name`` of the dataset's name.

    ``of_namespace`` is the format of the path's part of the namespace; ``separator`` joins the items of a path with a single
    part.
    """

    namespace: Namespace
    name: str
    of_namespace: str = ""
    separator: str = "/"

    @property
    def parts(self) -> list[str]:
        """The parts of a path: the fields of the two formats, in order."""
        return [field for _, field, _, _ in Formatter().parse(self.of_namespace + self.name) if field]


def dataset_name(kind: str, authority: str, path: str | Sequence[str]) -> DatasetName:
    """Return the key of a dataset from its platform, its authority and its path.

    A path is a text with dots between its parts (quoted parts may contain dots, and lose their quotes), or the parts
    themselves. Raise ``ConfigError`` for a platform without a naming rule, and for an incomplete authority or path.
    """
    platform = _PLATFORMS.get(_ALIASES.get(kind.lower(), kind.lower()))
    if platform is None:
        raise ConfigError(f"no naming rule for {kind!r}; use one of {', '.join(sorted({*_PLATFORMS, *_ALIASES}))}")
    names, parts = platform.parts, _parts(platform, path)
    if len(parts) != len(names) or not all(part.strip() for part in parts):
        raise ConfigError(f"a {kind} path has the parts {', '.join(names)}; this is {path!r}")
    given = dict(zip(names, parts, strict=True))
    namespace = platform.namespace(_without_credentials(authority)) + platform.of_namespace.format(**given)
    return DatasetName(namespace, platform.name.format(**given))


def _parts(platform: Platform, path: str | Sequence[str]) -> list[str]:
    if len(platform.parts) > 1:
        return _split(path)
    name = path if isinstance(path, str) else platform.separator.join(path)
    # A bucket's keys have no leading slash, a file system's paths do.
    return [name.lstrip("/") if platform.parts == ["key"] else name]


_PART = re.compile(r'"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^.]+)')


def _split(path: str | Sequence[str]) -> list[str]:
    if not isinstance(path, str):
        return list(path)
    return [double.replace('""', '"') or tick or square or plain for double, tick, square, plain in _PART.findall(path)]


def _without_credentials(authority: str) -> str:
    """Return the authority without a connection string's scheme, user, password, path and query."""
    place = authority.strip()
    if "://" in place:
        place = re.split(r"[/?#]", place.split("://", 1)[1])[0]
        return place.rpartition("@")[2]
    user, at, host = place.rpartition("@")
    # container@service is not a user at a host.
    return host if at and ":" in user else place


def _at(prefix: str, default_port: int | None = None) -> Namespace:
    """Return the rule ``{prefix}://{host}:{port}``; of several servers the first."""

    def namespace(authority: str) -> str:
        place = _host(prefix, authority.split(",")[0].strip())
        if re.search(r":\d+$", place):
            return f"{prefix}://{place}"
        if default_port is None:
            raise ConfigError(f"a {prefix} authority is host:port; this is {authority!r}")
        return f"{prefix}://{place}:{default_port}"

    return namespace


def _as_given(prefix: str) -> Namespace:
    """Return the rule ``{prefix}://{authority}``."""
    return lambda authority: f"{prefix}://{_host(prefix, authority)}"


def _fixed(namespace: str) -> Namespace:
    return lambda _: namespace


def _host(kind: str, authority: str) -> str:
    place = authority.strip("/")
    if not place:
        raise ConfigError(f"a {kind} dataset needs an authority")
    return place


def _azure(prefix: str) -> Namespace:
    """Return the rule ``{prefix}://{container}@{service}.dfs.core.windows.net``."""

    def namespace(authority: str) -> str:
        container, at, service = authority.partition("@")
        service = re.sub(r"\.(dfs|blob)\.core\.windows\.net$", "", service)
        if not (container and at and service):
            raise ConfigError(f"a {prefix} authority is container@service; this is {authority!r}")
        return f"{prefix}://{container}@{service}.dfs.core.windows.net"

    return namespace


def _glue(authority: str) -> str:
    region, colon, account = authority.removeprefix("arn:aws:glue:").partition(":")
    if not (region and colon and account):
        raise ConfigError(f"a glue authority is region:account; this is {authority!r}")
    return f"arn:aws:glue:{region}:{account}"


def _athena(authority: str) -> str:
    region = _host("athena", authority).removeprefix("athena.").removesuffix(".amazonaws.com")
    return f"awsathena://athena.{region}.amazonaws.com"


def _redshift(authority: str) -> str:
    """Return ``redshift://{cluster}.{region}:{port}``, also from the endpoint that the console shows."""
    host, _, port = _host("redshift", authority).partition(":")
    labels = re.sub(r"\.redshift(-serverless)?\.amazonaws\.com$", "", host).split(".")
    if len(labels) < 2:
        raise ConfigError(f"a redshift authority is cluster.region[:port]; this is {authority!r}")
    return f"redshift://{labels[0]}.{labels[-1]}:{port or 5439}"


def _snowflake(authority: str) -> str:
    return f"snowflake://{_host('snowflake', authority).removesuffix('.snowflakecomputing.com')}"


def _spanner(authority: str) -> str:
    if authority.count(":") != 1:
        raise ConfigError(f"a spanner authority is project:instance; this is {authority!r}")
    return f"spanner://{authority}"


def _kusto(authority: str) -> str:
    return f"azurekusto://{_host('azurekusto', authority).removesuffix('.kusto.windows.net')}.kusto.windows.net"


def _file(authority: str) -> str:
    return f"file://{authority.strip('/')}" if authority.strip("/") else "file"


_TABLE, _SCHEMA_TABLE = "{database}.{table}", "{database}.{schema}.{table}"
_CATALOG_TABLE = "{catalog}.{schema}.{table}"

# In the order of OpenLineage's naming page.
_PLATFORMS: dict[str, Platform] = {
    "awsathena": Platform(_athena, "{catalog}.{database}.{table}"),
    "glue": Platform(_glue, "table/{database}/{table}"),
    "azurecosmos": Platform(_as_given("azurecosmos"), "colls/{table}", of_namespace="/dbs/{database}"),
    "azurekusto": Platform(_kusto, "{database}/{table}"),
    "synapse": Platform(_at("sqlserver", 1433), "{schema}.{table}"),
    "bigquery": Platform(_fixed("bigquery"), "{project}.{dataset}.{table}"),
    "cassandra": Platform(_at("cassandra", 9042), "{keyspace}.{table}"),
    "milvus": Platform(_at("milvus", 19530), "{database}.{collection}"),
    "fabric-warehouse": Platform(_as_given("fabric-warehouse"), _SCHEMA_TABLE),
    "mysql": Platform(_at("mysql", 3306), _TABLE),
    "oceanbase": Platform(_at("oceanbase", 2881), _TABLE),
    "teradata": Platform(_at("teradata", 1025), _TABLE),
    "crate": Platform(_at("crate", 5432), _SCHEMA_TABLE),
    "db2": Platform(_at("db2", 50000), _SCHEMA_TABLE),
    "mssql": Platform(_at("mssql", 1433), _SCHEMA_TABLE),
    "postgres": Platform(_at("postgres", 5432), _SCHEMA_TABLE),
    "hive": Platform(_at("hive"), _TABLE),
    "oracle": Platform(_at("oracle", 1521), "{service}.{schema}.{table}"),
    "redshift": Platform(_redshift, _SCHEMA_TABLE),
    "snowflake": Platform(_snowflake, _SCHEMA_TABLE),
    "spanner": Platform(_spanner, _SCHEMA_TABLE),
    "trino": Platform(_at("trino", 8080), _CATALOG_TABLE),
    "unitycatalog": Platform(_as_given("unitycatalog"), _CATALOG_TABLE),
    "abfss": Platform(_azure("abfss"), "{path}"),
    "wasbs": Platform(_azure("wasbs"), "{path}"),
    "dbfs": Platform(_as_given("dbfs"), "{path}"),
    "gs": Platform(_as_given("gs"), "{key}"),
    "s3": Platform(_as_given("s3"), "{key}"),
    "hdfs": Platform(_at("hdfs", 8020), "{path}"),
    "kafka": Platform(_at("kafka", 9092), "{topic}"),
    "file": Platform(_file, "{path}"),
    "box": Platform(_as_given("box"), "{key}"),
    "filenet": Platform(_as_given("filenet"), "{key}"),
    "mssharepoint": Platform(_as_given("mssharepoint"), "{key}"),
    "pubsub": Platform(_fixed("pubsub"), "{resource}", separator=":"),
    "inmemory": Platform(_fixed("inmemory://"), "{id}"),
    # Not on the page, and named in the same way.
    "mongodb": Platform(_at("mongodb", 27017), "{database}.{collection}"),
    "elasticsearch": Platform(_at("elasticsearch", 9200), "{index}"),
}

_ALIASES = {
    "athena": "awsathena",
    "cosmos": "azurecosmos",
    "cosmosdb": "azurecosmos",
    "kusto": "azurekusto",
    "arn": "glue",
    "cratedb": "crate",
    "postgresql": "postgres",
    "sqlserver": "mssql",
    "fabric": "fabric-warehouse",
    "abfs": "abfss",
    "wasb": "wasbs",
    "gcs": "gs",
    "s3a": "s3",
    "s3n": "s3",
    "sharepoint": "mssharepoint",
}
