"""Keys and ids: what identifies a job, a dataset, a run and their versions (SPEC 1.2, 4.1, 5, 9)."""

from __future__ import annotations

import re
import uuid
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

from .canonical import Json, canonical

Key: TypeAlias = tuple[str, str]
"""A dataset or job key: (namespace, name)."""

MAX_KEY_LENGTH = 2000
_CONTROL = re.compile("[\x00-\x1f]")
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:headwater:ids")


def is_name(value: object) -> bool:
    """Tell whether a value may be part of a key: a text of 1 to 2,000 characters without U+0000 to U+001F (SPEC 1.2)."""
    return isinstance(value, str) and 0 < len(value) <= MAX_KEY_LENGTH and _CONTROL.search(value) is None


def key_of(value: Json | None) -> Key | None:
    """Return the key that an object's ``namespace`` and ``name`` give; None where they are no valid key (SPEC 1.2)."""
    if not isinstance(value, dict):
        return None
    namespace, name = value.get("namespace"), value.get("name")
    return (namespace, name) if is_name(namespace) and is_name(name) else None  # type: ignore[return-value]


@lru_cache(maxsize=262_144)
def key_text(key: Key) -> str:
    """Return the canonical JSON of a key, the two-element list of SPEC 9."""
    return canonical(list(key))


@lru_cache(maxsize=262_144)
def key_hash(*parts: str) -> str:
    """Return the 32 hex digits under which a key is unique in the store; a name of 2,000 characters fits no index."""
    return blake2b(canonical(list(parts)).encode(), digest_size=16).hexdigest()


def version_id(*parts: Json) -> str:
    """Return the UUIDv5 of a list of parts (SPEC 4.1, 5, 9): its name is the list's canonical JSON."""
    return str(uuid.uuid5(_IDS, canonical(list(parts))))


def job_version_id(job: Key, run_id: str) -> str:
    """Return the id of the job version that a run made (SPEC 4.1)."""
    return version_id(list(job), run_id)


def job_event_version_id(job: Key, event: str) -> str:
    """Return the id of the job version that a JobEvent made, given the event's canonical JSON (SPEC 4.4)."""
    return version_id(list(job), "event", event)


def dataset_version_id(dataset: Key, run_id: str) -> str:
    """Return the id of the dataset version that a run made (SPEC 5.1)."""
    return version_id(list(dataset), run_id)


def dataset_event_version_id(dataset: Key, event: str) -> str:
    """Return the id of the dataset version that a DatasetEvent made, given the event's canonical JSON (SPEC 5.4)."""
    return version_id(list(dataset), "event", event)


def initial_version_id(dataset: Key) -> str:
    """Return the id of a dataset's initial version (SPEC 5.2)."""
    return version_id(list(dataset), "initial")


def external_version_id(dataset: Key, external: str) -> str:
    """Return the id of a version that only its storage knows (SPEC 5.3)."""
    return version_id(list(dataset), "external", external)
