"""Keys and ids: the identity of jobs, datasets, runs and their versions (specification 1.2, 4.1, 5, 9)."""

from __future__ import annotations

import re
import uuid
from functools import lru_cache
from hashlib import blake2b, sha1
from json.encoder import encode_basestring
from typing import TypeAlias

from .canonical import Json, canonical

Key: TypeAlias = tuple[str, str]
"""A dataset or job key: (namespace, name)."""

MAX_KEY_LENGTH = 2000
CACHED_KEYS = 262_144
CACHED_LENGTH = 200
"""Keys of more characters are not cached: as many names of 2,000 characters would take gigabytes."""

_CONTROL = re.compile("[\x00-\x1f]")
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:headwater:ids")


def is_name(value: object) -> bool:
    """Return whether a value may be part of a key: a string of 1 to 2,000 characters, none below U+0020 (specification 1.2)."""
    return isinstance(value, str) and 0 < len(value) <= MAX_KEY_LENGTH and _CONTROL.search(value) is None


def key_of(value: Json | None) -> Key | None:
    """Return the key of an object with ``namespace`` and ``name``; None if they are not a valid key (specification 1.2)."""
    if not isinstance(value, dict):
        return None
    namespace, name = value.get("namespace"), value.get("name")
    return (namespace, name) if is_name(namespace) and is_name(name) else None  # type: ignore[return-value]


def key_text(key: Key) -> str:
    """Return the canonical JSON of a key, the two-element list of specification 9."""
    return _cached_text(*key) if len("".join(key)) <= CACHED_LENGTH else _text(*key)


def node_key(*parts: str) -> str:
    """Return the 32 hex digits that identify a key in the store; names of 2,000 characters are too long for an index."""
    return _cached_hash(*parts) if len("".join(parts)) <= CACHED_LENGTH else _hash(*parts)


def _text(*parts: str) -> str:
    return canonical(list(parts))


def _hash(*parts: str) -> str:
    return blake2b(canonical(list(parts)).encode(), digest_size=16).hexdigest()


_cached_text, _cached_hash = lru_cache(CACHED_KEYS)(_text), lru_cache(CACHED_KEYS)(_hash)


def version_id(key: Key, *parts: str) -> str:
    """Return the UUIDv5 whose name is the canonical JSON of ``[key, *parts]`` (specification 4.1, 5, 9)."""
    name = ",".join((key_text(key), *map(encode_basestring, parts)))
    # The same as uuid.uuid5 in a tenth of its time: every run needs several.
    digest = bytearray(sha1(_IDS.bytes + f"[{name}]".encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    digits = digest.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def job_version_id(job: Key, run_id: str) -> str:
    """Return the id of the job version that a run created (specification 4.1)."""
    return version_id(job, run_id)


def job_event_version_id(job: Key, event: str) -> str:
    """Return the id of the job version of a JobEvent, given the event's canonical JSON (specification 4.4)."""
    return version_id(job, "event", event)


def dataset_version_id(dataset: Key, run_id: str) -> str:
    """Return the id of the dataset version that a run wrote (specification 5.1)."""
    return version_id(dataset, run_id)


def dataset_event_version_id(dataset: Key, event: str) -> str:
    """Return the id of the dataset version of a DatasetEvent, given the event's canonical JSON (specification 5.4)."""
    return version_id(dataset, "event", event)


def initial_version_id(dataset: Key) -> str:
    """Return the id of a dataset's initial version (specification 5.2)."""
    return version_id(dataset, "initial")


def external_version_id(dataset: Key, external: str) -> str:
    """Return the id of a version that only the storage system names (specification 5.3)."""
    return version_id(dataset, "external", external)
