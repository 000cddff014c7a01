"""Keys and ids: what identifies a job, a dataset, a run and their versions (specification 1.2, 4.1, 5, 9)."""

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
_CONTROL = re.compile("[\x00-\x1f]")
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:headwater:ids")


def is_name(value: object) -> bool:
    """Tell whether a value may be part of a key: a text of 1 to 2,000 characters without U+0000 to U+001F (specification 1.2)."""
    return isinstance(value, str) and 0 < len(value) <= MAX_KEY_LENGTH and _CONTROL.search(value) is None


def key_of(value: Json | None) -> Key | None:
    """Return the key that an object's ``namespace`` and ``name`` give; None where they are no valid key (specification 1.2)."""
    if not isinstance(value, dict):
        return None
    namespace, name = value.get("namespace"), value.get("name")
    return (namespace, name) if is_name(namespace) and is_name(name) else None  # type: ignore[return-value]


@lru_cache(maxsize=262_144)
def key_text(key: Key) -> str:
    """Return the canonical JSON of a key, the two-element list of specification 9."""
    return canonical(list(key))


@lru_cache(maxsize=262_144)
def node_key(*parts: str) -> str:
    """Return a node key: 32 hex digits, the unique property ``key`` of a node; a name can be too long for an index."""
    return blake2b(canonical(list(parts)).encode(), digest_size=16).hexdigest()


def version_id(key: Key, *parts: str) -> str:
    """Return the UUIDv5 whose name is the canonical JSON of ``[key, *parts]`` (specification 4.1, 5, 9)."""
    name = ",".join((key_text(key), *map(encode_basestring, parts)))
    # What uuid.uuid5 does, in a tenth of its time: every run needs several.
    digest = bytearray(sha1(_IDS.bytes + f"[{name}]".encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    digits = digest.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def job_version_id(job: Key, run_id: str) -> str:
    """Return the id of the job version that a run made (specification 4.1)."""
    return version_id(job, run_id)


def job_event_version_id(job: Key, event: str) -> str:
    """Return the id of the job version that a JobEvent made, given the event's canonical JSON (specification 4.4)."""
    return version_id(job, "event", event)


def dataset_version_id(dataset: Key, run_id: str) -> str:
    """Return the id of the dataset version that a run made (specification 5.1)."""
    return version_id(dataset, run_id)


def dataset_event_version_id(dataset: Key, event: str) -> str:
    """Return the id of the dataset version that a DatasetEvent made, given the event's canonical JSON (specification 5.4)."""
    return version_id(dataset, "event", event)


def initial_version_id(dataset: Key) -> str:
    """Return the id of a dataset's initial version (specification 5.2)."""
    return version_id(dataset, "initial")


def external_version_id(dataset: Key, external: str) -> str:
    """Return the id of a version that only its storage knows (specification 5.3)."""
    return version_id(dataset, "external", external)
