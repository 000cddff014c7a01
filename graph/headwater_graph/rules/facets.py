"""Known facets, read member by member: malformed members are skipped, the rest counts (specification 1.5).

Every reader takes the JSON text of a facet, or None for an absent one. A facet that is not an object is read as absent,
and so is a job or dataset facet that is ``_deleted`` (specification 2.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeAlias, TypeVar, cast

import msgspec

from headwater_avro.canonical import Json, canonical, parsed
from headwater_avro.names import Key, is_name, key_of, key_text
from headwater_graph.model.facet_properties import STREAMING
from headwater_graph.model.records import Facets

Members: TypeAlias = dict[str, Json]

Value = TypeVar("Value")


class TextCache(Generic[Value]):
    """A reader of texts that caches its results, because run after run carries the same facets.

    Only texts of up to ``SMALL`` bytes are cached. When they exceed ``LIMIT`` bytes together, the cache starts anew.
    """

    SMALL = 4096
    LIMIT = 16 * 1024 * 1024

    def __init__(self, read: Callable[[bytes], Value]) -> None:
        self._read = read
        self._results: dict[bytes, Value] = {}
        self.size = 0

    def __call__(self, text: bytes) -> Value:
        """Return what the reader returns for a text."""
        results = self._results  # Another thread may replace it.
        if text in results:
            return results[text]
        value = self._read(text)
        if len(text) <= self.SMALL:
            if self.size + len(text) > self.LIMIT:
                self._results, self.size = {}, 0
            self._results[text] = value
            self.size += len(text)
        return value


def members(text: bytes | None) -> Members:
    """Return the members of a facet, ``{}`` if it is absent or not an object."""
    value = None if text is None else parsed(text)
    return value if isinstance(value, dict) else {}


def is_deleted(text: bytes) -> bool:
    """Return whether a job or dataset facet is an object whose ``_deleted`` is exactly true (specification 2.4)."""
    return b'"_deleted"' in text and members(text).get("_deleted") is True


def living(facets: Facets, name: str) -> bytes | None:
    """Return the text of a job or dataset facet, None if it is absent or deleted."""
    instance = facets.get(name)
    return None if instance is None or is_deleted(instance[2]) else instance[2]


def without_deleted(facets: Facets) -> Facets:
    """Return the facets of a job or dataset without those whose last instance is a deletion (specification 2.4)."""
    return {name: instance for name, instance in facets.items() if not is_deleted(instance[2])}


def text_member(facet: Members, name: str) -> str | None:
    """Return a member, None if it is not a non-empty string (specification 1.5)."""
    value = facet.get(name)
    return value if isinstance(value, str) and value else None


# ---- parent (specification 2.8) ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parent:
    """The run and the job that a run's parent facet names, each of them perhaps absent."""

    run_id: str | None = None
    job: Key | None = None

    @property
    def job_text(self) -> str:
        """The canonical JSON of the parent job's key, ``""`` without a job."""
        return key_text(self.job) if self.job else ""


def parent_of(parent: bytes | None, parent_run: bytes | None) -> Parent:
    """Return what ``parent`` names if it gives a valid runId or job key, else what ``parentRun`` names (specification 2.8)."""
    for text in (parent, parent_run):
        if text is not None and (named := _parent(text)) != Parent():
            return named
    return Parent()


@TextCache
def _parent(text: bytes) -> Parent:
    facet = members(text)
    run = facet.get("run")
    run_id = run.get("runId") if isinstance(run, dict) else None
    return Parent(run_id if is_name(run_id) else None, key_of(facet.get("job")))  # type: ignore[arg-type]


# ---- job facets (specification 2.7, 3.3, 3.4, 3.6, 6.6) ------------------------------------------------------------


def is_snapshot(job_type: bytes | None) -> bool:
    """Return whether each event of the run lists all its datasets (specification 2.7)."""
    pattern = members(job_type).get("emissionPattern")
    return isinstance(pattern, dict) and pattern.get("eventContentMode") == "COMPLETE_SNAPSHOT"


def is_streaming(job_type: bytes | None) -> bool:
    """Return whether the job is streaming (specification 3.4)."""
    return members(job_type).get("processingType") in STREAMING


def code_version(job_facets: Facets) -> str | None:
    """Return the code version that job facets give, None without one (specification 3.3)."""
    location = members(living(job_facets, "sourceCodeLocation"))
    version = text_member(location, "version") or text_member(location, "tag")
    if version:
        return version
    source = text_member(members(living(job_facets, "sourceCode")), "sourceCode")
    return sha256(source.encode()).hexdigest() if source else None


def is_retired(job_facets: Facets) -> bool:
    """Return whether the job facet ``headwater_retired`` is an object that is not deleted (specification 3.6)."""
    text = living(job_facets, "headwater_retired")
    return text is not None and isinstance(parsed(text), dict)


def lineage_entries(lineage: bytes | None) -> tuple[str, ...]:
    """Return the entries of a job facet ``lineage`` that count, as canonical JSON (specification 6.6)."""
    if lineage is None or is_deleted(lineage):
        return ()
    entries = members(lineage).get("entries")
    listed = entries if isinstance(entries, list) else []
    return tuple(canonical(entry) for entry in listed if is_dataset_reference(entry))


def is_dataset_reference(value: Json) -> bool:
    """Return whether a value is an object with a valid key whose ``type`` is DATASET or absent (specification 6.6, 1.5)."""
    if key_of(value) is None or not isinstance(value, dict):
        return False
    kind = value.get("type")
    return kind == "DATASET" or not (isinstance(kind, str) and kind)


# ---- dataset facets (specification 5.1, 5.3, 6.7, 7.1) -------------------------------------------------------------


def external_version(version: bytes | None) -> str | None:
    """Return ``datasetVersion`` of a facet ``version``, None without it (specification 5.3)."""
    return text_member(members(version), "datasetVersion")


def schema_of(schema: bytes | None) -> str | None:
    """Return a version's schema as canonical JSON, ``[[name, type], [name], …]``, None without a list (specification 5.1)."""
    return None if schema is None else _schema(schema)


@TextCache
def _schema(schema: bytes) -> str | None:
    rows = schema_rows(members(schema))
    return None if rows is None else canonical(cast("Json", rows))


def schema_rows(schema: Members) -> list[list[str]] | None:
    """Return the names and types of a facet ``schema``, None without a list (specification 5.1)."""
    fields = schema.get("fields")
    if not isinstance(fields, list):
        return None
    rows = []
    for field in fields:
        name = field.get("name") if isinstance(field, dict) else None
        if isinstance(field, dict) and is_name(name):
            kind = text_member(field, "type")
            rows.append([str(name), kind] if kind else [str(name)])
    return rows


def aliases_of(symlinks: bytes | None) -> tuple[Key, ...]:
    """Return the valid keys that a facet ``symlinks`` lists (specification 6.7)."""
    return () if symlinks is None else _aliases(symlinks)


@TextCache
def _aliases(symlinks: bytes) -> tuple[Key, ...]:
    identifiers = members(symlinks).get("identifiers")
    listed = identifiers if isinstance(identifiers, list) else []
    return tuple(dict.fromkeys(key for item in listed if (key := key_of(item)) is not None))


def says_drop(facets: Facets) -> bool:
    """Return whether the dataset facet ``lifecycleStateChange`` states DROP (specification 7.1)."""
    return members(living(facets, "lifecycleStateChange")).get("lifecycleStateChange") == "DROP"


def key_from(text: bytes) -> Key:
    """Return the key whose canonical JSON is ``text``."""
    namespace, name = msgspec.json.decode(text, type=tuple[str, str])
    return (namespace, name)
