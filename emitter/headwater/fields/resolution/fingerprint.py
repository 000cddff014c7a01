"""The fingerprint of a set of operations: equal sets have equal fingerprints, whatever their order.

The digest of an operation covers its own content and, in place of the origins of its inputs, the digests of the
origins. The fingerprint covers the set of digests. Therefore neither the order of operations nor generated ids count,
while names, descriptions, namespaces and the wiring do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from ..model.wired import InputField, Operation


def fingerprint(ordered: Sequence[Operation]) -> str:
    """Return the SHA-256 (64 hex digits) of operations given in topological order."""
    digests: dict[str, str] = {}
    for operation in ordered:
        digests[operation.id] = _digest(_content(operation, digests))
    return _digest(sorted(set(digests.values())))


def _content(operation: Operation, digests: dict[str, str]) -> list[object]:
    dataset = operation.dataset

    def inputs(links: Iterable[InputField]) -> list[tuple[str, list[str]]]:
        fields: dict[str, list[str]] = {}
        for link in links:
            fields.setdefault(digests.get(link.origin or "", ""), []).append(link.field)
        return sorted((origin, sorted(set(names))) for origin, names in fields.items())

    return [
        operation.type.value,
        operation.name,
        operation.description,
        None if dataset is None else [dataset.namespace, dataset.name],
        inputs(operation.inputs),
        sorted(operation.outputs),
        operation.kind,
        operation.masking,
        operation.propagate_metadata,
        sorted(operation.removes_tags),
        sorted([output, inputs(links)] for output, links in operation.direct.items()),
        operation.reaches and sorted([reached.namespace or "", reached.name] for reached in operation.reaches),
        # Only if it is one: the fingerprints of all others are those of releases without guesses.
        *(["guess"] if operation.guess else []),
    ]


def _digest(content: object) -> str:
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
