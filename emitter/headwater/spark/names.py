"""Dataset and job names by OpenLineage's naming rules, as the official Spark integration spells them.  Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple
from urllib.parse import urlsplit

_SCHEMES = {"s3a": "s3", "s3n": "s3"}
# Object stores: the key has no leading slash (naming.md).
_OBJECT_STORES = frozenset({"s3", "gs", "wasb", "wasbs", "abfs", "abfss"})
# As Hadoop's Path has it: nothing is escaped, "?" and "#" are characters like others.
_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
_PARTITION = re.compile(r"[^/=]+=[^/]*\Z")


class DatasetName(NamedTuple):
    """An OpenLineage dataset key."""

    namespace: str
    name: str


def from_location(location: str) -> DatasetName:
    """The key of a file or folder told by a Hadoop path or URI; partition folders at its end are taken off."""
    match = _LOCATION.fullmatch(location)
    told, whole, path = match.groups() if match is not None else (None, None, location)
    scheme = _SCHEMES.get(told or "", told) or "file"
    path = _trimmed(path or "/")
    authority = whole or ""
    if scheme not in {"abfs", "abfss", "wasb", "wasbs"}:
        authority = authority.rpartition("@")[2]
    if not authority:
        return DatasetName(scheme, path)
    return DatasetName(f"{scheme}://{authority}", path.lstrip("/") or "/" if scheme in _OBJECT_STORES else path)


def _trimmed(path: str) -> str:
    segments = path.rstrip("/").split("/")
    while len(segments) > 2 and _PARTITION.match(segments[-1]):
        segments.pop()
    return "/".join(segments) or "/"


def snake_case(text: str) -> str:
    """The official integration's normal form of an application's or a node's name: NFKD, snake case, underscores."""
    plain = unicodedata.normalize("NFKD", text.strip())
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", words)).strip("_").lower()


def job_suffix(dataset: DatasetName, table: str | None) -> str:
    """What the output adds to the job's name: the table, else the last two parts of the path, joined by ``_``."""
    text = table if table is not None else "_".join(dataset.name.strip("/").split("/")[-2:])
    return text.replace(".", "_")


_JDBC = re.compile(r"jdbc:(?P<kind>[a-z0-9]+):(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_JDBC_KINDS = {
    "postgresql": ("postgres", 5432),
    "mysql": ("mysql", 3306),
    "mariadb": ("mysql", 3306),
    "sqlserver": ("sqlserver", 1433),
}


def from_jdbc(url: str, table: str) -> DatasetName:
    """The key of a table behind a JDBC address: scheme, host and port; credentials and options stay out."""
    match = _JDBC.match(url)
    if match is None:
        return DatasetName("jdbc", table)
    kind, rest = match["kind"].lower(), match["rest"]
    if kind == "derby":
        database = rest.partition(";")[0].removeprefix("directory:")
        return DatasetName(f"file:{database}", table)
    parts = urlsplit(rest if rest.startswith("//") else f"//{rest.lstrip('@')}")
    scheme, port = _JDBC_KINDS.get(kind, (kind, None))
    host = parts.netloc.rpartition("@")[2].partition(";")[0]
    if port is not None and ":" not in host:
        host = f"{host}:{port}"
    database = parts.path.strip("/").partition(";")[0]
    return DatasetName(f"{scheme}://{host}", f"{database}.{table}" if database else table)


def from_kafka(servers: str, topic: str) -> DatasetName:
    """The key of a topic: the first of the bootstrap servers."""
    first = servers.split(",")[0].strip().rpartition("://")[2]
    return DatasetName(f"kafka://{first}", topic)
