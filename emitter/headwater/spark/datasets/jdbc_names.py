"""Keys of tables behind JDBC addresses, by OpenLineage's naming rules, as the official Spark integration spells them.  Pure.

Credentials and options are never part of a key. An address without a server (a file, a database in memory) is the
namespace.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .names import DatasetName


class _Server(NamedTuple):
    """The content of an address: the namespace of its tables, and the database of names without one."""

    namespace: str
    database: str = ""


_Reader = Callable[[str], _Server | None]
_ADDRESS = re.compile(r"jdbc:(?P<rest>(?P<kind>[^:]+):.*)", re.IGNORECASE | re.DOTALL)
_WITH_PORT = re.compile(r"(\[.*\]|[^:\]]+):\d+")


def from_jdbc(url: str, table: str) -> DatasetName:
    """Return the key of a table behind a JDBC address."""
    match = _ADDRESS.match(url)
    if match is None:
        return DatasetName("jdbc", table)
    kind, rest = match["kind"].lower(), match["rest"]
    server = _READERS.get(kind, _any_server)(rest) or _Server(_without_options(rest))
    complete = not server.database or (kind in _QUALIFIED and "." in table)
    return DatasetName(server.namespace, table if complete else f"{server.database}.{table}")


def _without_options(rest: str) -> str:
    return re.sub(r"//[^/@]*@", "//", re.split(r"[?;]", rest)[0])


def _servers(scheme: str, hosts: str, port: int | None) -> str:
    """Return the namespace of a server or of several replicas, without credentials."""
    servers = [host.rpartition("@")[2].lower() for host in hosts.split(",")]
    if port is not None:
        servers = [server if _WITH_PORT.fullmatch(server) else f"{server}:{port}" for server in servers]
    return f"{scheme}://{','.join(servers)}"


def _at(start: str, scheme: str | None = None, port: int | None = None) -> _Reader:
    """Return a reader of ``start://host[:port],.../database?options``; ``start`` is a pattern."""
    pattern = re.compile(rf"(?P<scheme>{start})://(?P<hosts>[^/?;]+)/?(?P<database>[^?;:]*)", re.IGNORECASE)

    def read(rest: str) -> _Server | None:
        match = pattern.match(rest)
        if match is None:
            return None
        hosts = match["hosts"].replace("--", ",") if scheme == "cassandra" else match["hosts"]
        return _Server(_servers(scheme or match["scheme"].lower(), hosts, port), match["database"].strip("/"))

    return read


_any_server = _at(r"[\w.+-]+")


def _options(text: str, separator: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(separator))
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


_SQLSERVER = re.compile(
    r"(?:jtds:)?sqlserver://(?P<host>[^\\:;/]*)(?:\\(?P<instance>[^:;/]+))?(?::(?P<port>\d+))?"
    r"(?:/(?P<database>[^;]+))?(?:;(?P<options>.*))?",
    re.IGNORECASE | re.DOTALL,
)


def _sqlserver(rest: str) -> _Server | None:
    match = _SQLSERVER.match(rest)
    options = {} if match is None else _options(match["options"] or "", ";")
    host = options.get("servername") if match is None else match["host"] or options.get("servername")
    if match is None or not host:
        return None
    port = match["port"] or options.get("portnumber")
    instance = match["instance"] or options.get("instance") or options.get("instancename")
    database = match["database"] or options.get("databasename") or options.get("database") or ""
    server = _servers("sqlserver", host, None if port is None else int(port))
    return _Server(server if instance is None else f"{server}/{instance}", database)


_ORACLE = re.compile(r"(?P<host>\[.*\]|[^:/?]+)(?::(?P<port>\d+))?(?:[:/](?P<database>[^:/?]+))?")


def _oracle(rest: str) -> _Server | None:
    address = rest.partition("@")[2].removeprefix("//")
    if address.startswith("("):
        return _oracle_descriptor(address)
    match = _ORACLE.match(address)
    if match is None:
        return None
    return _Server(_servers("oracle", match["host"], int(match["port"] or 1521)), match["database"] or "")


def _oracle_descriptor(text: str) -> _Server | None:
    """Read ``(DESCRIPTION=(ADDRESS=(HOST=...)(PORT=...))(CONNECT_DATA=(SERVICE_NAME=...)))``."""
    addresses = re.findall(r"\(\s*ADDRESS\s*=((?:\s*\([^()]*\))*)", text, re.IGNORECASE)
    servers = [_parts(address) for address in addresses]
    hosts = ",".join(f"{server['host']}:{server.get('port', '1521')}" for server in servers if "host" in server)
    names = _parts(text)
    database = names.get("service_name") or names.get("sid") or names.get("instance_name") or ""
    return _Server(_servers("oracle", hosts, None), database) if hosts else None


def _parts(text: str) -> dict[str, str]:
    return {key.lower(): value for key, value in re.findall(r"\(\s*(\w+)\s*=\s*([^()\s]+)\s*\)", text)}


def _teradata(rest: str) -> _Server | None:
    server = _at("teradata", "teradata")(rest)
    if server is None:
        return None
    options = _options(server.database, ",")
    host = server.namespace.partition("://")[2]
    return _Server(_servers("teradata", host, int(options.get("dbs_port", 1025))), options.get("database", ""))


def _derby(rest: str) -> _Server | None:
    """Read the address of a folder, which is named as a folder, or of a server or a database in memory."""
    path, _, options = rest.partition(":")[2].partition(";")
    if path.startswith(("//", "memory:", "classpath:", "jar:")):
        return _any_server(rest)
    folder = path.removeprefix("directory:") or _options(options, ";").get("databasename", "")
    return _Server(f"file:{folder}")


_REDSHIFT_HOST = re.compile(r"([^.]+)\.[^.]+\.([^.]+)\.redshift(?:-serverless)?\.amazonaws\.com", re.IGNORECASE)


def _redshift(rest: str) -> _Server | None:
    """Read the address of a cluster or workgroup, whose namespace has its name and region, or of any other host."""
    server = _at("redshift(?::iam)?", "redshift", 5439)(rest)
    return None if server is None else server._replace(namespace=_REDSHIFT_HOST.sub(r"\1.\2", server.namespace))


_READERS: dict[str, _Reader] = {
    "cassandra": _at("cassandra", "cassandra", 9042),
    "ch": _at(r"ch(?::\w+)?", "clickhouse", 8123),
    "clickhouse": _at(r"clickhouse(?::\w+)?", "clickhouse", 8123),
    "crate": _at("crate", "crate", 5432),
    "db2": _at("db2", "db2", 6789),
    "derby": _derby,
    "jtds": _sqlserver,
    "mysql": _at(r"mysql(?::\w+)?", "mysql", 3306),
    "oceanbase": _at(r"oceanbase(?::\w+)?", "oceanbase", 2881),
    "oracle": _oracle,
    "postgresql": _at("postgresql", "postgres", 5432),
    "redshift": _redshift,
    "sqlserver": _sqlserver,
    "teradata": _teradata,
    "trino": _at("trino", "trino", 443),
}
# Kinds whose qualified table names begin with a database, not with a schema of the address's database.
_QUALIFIED = frozenset({"mysql", "ch", "clickhouse"})
