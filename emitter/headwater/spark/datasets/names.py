"""Dataset and job names by OpenLineage's naming rules, as the official Spark integration spells them.  Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfs": "abfss"}
# Object stores: the key has no leading slash (naming.md).
_OBJECT_STORES = frozenset({"s3", "gs", "wasb", "wasbs", "abfs", "abfss"})
# As in Hadoop's Path: nothing is escaped, and "?" and "#" are ordinary characters.
_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
_YEAR, _MONTH, _DAY = r"(?!0000)\d{4}", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DATES = (rf"{_YEAR}-{_MONTH}-{_DAY}", rf"{_YEAR}{_MONTH}{_DAY}", rf"{_DAY}\.{_MONTH}\.{_YEAR}")
# The official integration's patterns of partition folders at the end of a path.
_ENDS = (
    r"[^/=]*=[^/=]*",
    rf"{_YEAR}[-/]?{_MONTH}",
    rf"{_YEAR}/{_MONTH}/{_DAY}",
    rf"[TZ.: -]*(?:{'|'.join(_DATES)})[\dTZ.: -]*",  # with or without a time
)
_PARTITION = re.compile(f"/(?:{'|'.join(_ENDS)})\\Z")


class DatasetName(NamedTuple):
    """An OpenLineage dataset key."""

    namespace: str
    name: str


def from_location(location: str) -> DatasetName:
    """Return the key of a file or folder at a Hadoop path or URI, without the partition folders at its end."""
    return _named(location, trimmed=True)


def partition_of(location: str) -> str | None:
    """Return the name with its partition folders; None where it has none."""
    whole = _named(location, trimmed=False).name
    return None if whole == from_location(location).name else whole


def partition_values(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the values of a partition's columns with Hive's name of the partition of null."""
    return {column: "__HIVE_DEFAULT_PARTITION__" if value is None else value for column, value in values.items()}


def folder_partition(folder: str) -> dict[str, str]:
    """Return the values of a partition's columns by the names of its folders, such as ``day=2026-01-01/hour=1``.

    Spark escapes some characters of names and values, such as ``/`` as ``%2F``.
    """
    pairs = (part.partition("=") for part in folder.split("/"))
    return {unquote(column): unquote(value) for column, equals, value in pairs if equals}


def _named(location: str, trimmed: bool) -> DatasetName:
    match = _LOCATION.fullmatch(location)
    given, authority, path = match.groups() if match is not None else (None, None, location)
    scheme = _SCHEMES.get(given or "", given) or "file"
    path = _REPEATED.sub("/", path).rstrip("/") or "/"
    path = _trimmed(path) if trimmed else path
    authority = authority or ""
    if scheme not in {"abfs", "abfss", "wasb", "wasbs"}:
        authority = authority.rpartition("@")[2]
    if not authority:
        return DatasetName(scheme, path)
    return DatasetName(f"{scheme}://{authority}", path.lstrip("/") or "/" if scheme in _OBJECT_STORES else path)


_REPEATED = re.compile(r"//+")


def _trimmed(path: str) -> str:
    while (found := _PARTITION.search(path, 1)) is not None:
        path = path[: found.start()]
    return path


_NON_WORD_ENDS = re.compile(r"^\W+|\W+$", re.ASCII)
_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])", re.ASCII)


def snake_case(text: str) -> str:
    """Return the official integration's normal form of an application's or a node's name: NFKD, snake case."""
    decomposed = unicodedata.normalize("NFKD", _NON_WORD_ENDS.sub("", text))
    plain = "".join(character for character in decomposed if not unicodedata.category(character).startswith("M"))
    return re.sub(r"[^a-z0-9]+", "_", _WORD_STARTS.sub(" ", plain).lower())


def job_suffix(dataset: DatasetName, table: str | None) -> str:
    """Return the output's part of the job's name: the table, else the last two parts of the path, joined by ``_``."""
    text = table if table is not None else "_".join(dataset.name.strip("/").split("/")[-2:])
    return text.replace(".", "_")


def from_kafka(servers: str, topic: str) -> DatasetName:
    """Return the key of a topic, whose namespace is the first of the bootstrap servers."""
    first = servers.split(",")[0].strip().rpartition("://")[2]
    return DatasetName(f"kafka://{first}", topic)
