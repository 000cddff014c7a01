"""Metadata in the JSON of cases: the metadata of source fields, the policies, and the inherited metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetField
from ..resolution.lineage import FieldLineage
from ..resolution.metadata import COLLECT, DROP, ERROR, FIRST, FieldMetadata, Metadata, Policy, propagate, ranked

Json = dict[str, Any]

_POLICIES = {policy.rule: policy for policy in (COLLECT, FIRST, DROP, ERROR)}


def inherited_json(case: Json, lineage: FieldLineage) -> Json:
    """Return the member ``metadata``, the metadata of each destination field with origins, if the case has any.

    Raises ConfigError for an invalid policy, and InvalidLineage for a conflict under the policy ``error``.
    """
    if not ("metadata" in case or "on_destination" in case):
        return {}
    policies = {name: _policy(item) for name, item in (case.get("policies") or {}).items()}
    known = {str(field): field for field in (*lineage.source_fields, *lineage.incoming)}
    found = propagate(
        lineage,
        dict(_metadata(case.get("metadata"), known)),
        on_destination=dict(_metadata(case.get("on_destination"), known)),
        policies=policies,
        default=policies.get("*", COLLECT),
    )
    return {
        "metadata": {str(field): _json(item) for field, item in sorted(found.items()) if item.tags or item.properties}
    }


def _metadata(items: Json | None, known: dict[str, DatasetField]) -> Iterator[tuple[DatasetField, Metadata]]:
    # Fields that are not part of any operation have nothing to propagate to.
    for name, item in (items or {}).items():
        if name in known:
            yield known[name], Metadata(frozenset(item.get("tags") or ()), dict(item.get("properties") or {}))


def _policy(item: Any) -> Policy:
    match item:
        case {"ranked": [*order]}:
            return ranked(*map(str, order))
        case str() if item in _POLICIES:
            return _POLICIES[item]
    raise ConfigError(f"not a policy: {item!r}; use one of {', '.join(_POLICIES)}, or {{'ranked': [values]}}")


def _json(metadata: FieldMetadata) -> Json:
    return {
        "tags": sorted(metadata.tags),
        "properties": {
            name: {value: sorted(map(str, origins)) for value, origins in sorted(values.items())}
            for name, values in metadata.properties.items()
        },
        "conflicts": list(metadata.conflicts),
    }
