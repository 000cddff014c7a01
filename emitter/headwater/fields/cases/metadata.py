"""Metadata in the JSON of `cases`: what source fields have, by which policies it follows them, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetField
from ..resolution.lineage import FieldLineage
from ..resolution.metadata import COLLECT, DROP, ERROR, FIRST, FieldMetadata, Metadata, Policy, propagate, ranked

Json = dict[str, Any]

_RULES = {policy.rule: policy for policy in (COLLECT, FIRST, DROP, ERROR)}


def inherited_json(case: Json, lineage: FieldLineage) -> Json:
    """The key ``metadata``, where the case tells any: what each destination field inherits, with origins.

    Raises ConfigError for a policy or a field that is none, InvalidLineage where the policy is ``error``.
    """
    if not ("metadata" in case or "on_destination" in case):
        return {}
    policies = {name: _policy(told) for name, told in (case.get("policies") or {}).items()}
    known = {str(one): one for one in (*lineage.source_fields, *lineage.incoming)}
    found = propagate(
        lineage,
        dict(_told(case.get("metadata"), known)),
        on_destination=dict(_told(case.get("on_destination"), known)),
        policies=policies,
        default=policies.get("*", COLLECT),
    )
    return {"metadata": {str(one): _json(told) for one, told in sorted(found.items()) if told.tags or told.properties}}


def _told(items: Json | None, known: dict[str, DatasetField]) -> Iterator[tuple[DatasetField, Metadata]]:
    """Fields that no operation takes or makes hand on nothing, and so are passed over."""
    for name, told in (items or {}).items():
        if name in known:
            yield known[name], Metadata(frozenset(told.get("tags") or ()), dict(told.get("properties") or {}))


def _policy(told: Any) -> Policy:
    match told:
        case {"ranked": [*order]}:
            return ranked(*map(str, order))
        case str() if told in _RULES:
            return _RULES[told]
    raise ConfigError(f"not a policy: {told!r}; one of {', '.join(_RULES)}, or {{'ranked': [values]}}")


def _json(told: FieldMetadata) -> Json:
    return {
        "tags": sorted(told.tags),
        "properties": {
            name: {value: sorted(map(str, origins)) for value, origins in sorted(values.items())}
            for name, values in told.properties.items()
        },
        "conflicts": list(told.conflicts),
    }
