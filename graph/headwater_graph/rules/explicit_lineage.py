"""Specification 6.6: explicit lineage, the entries of the job facet ``lineage``, which state which input feeds which output.

An entry names an output by its key, and inputs at its own level or under a valid name in its ``fields``. Entries are
held as canonical JSON texts, united over all events of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater_avro.canonical import Json, parsed
from headwater_avro.names import Key, is_name, key_of
from headwater_graph.rules.columns import WHOLE, Edges, reduced, sources_of
from headwater_graph.rules.facets import Members, is_dataset_reference


def entries_by_output(entries: Iterable[str]) -> dict[Key, list[Members]]:
    """Return the entries of a run by the outputs that they name."""
    found: dict[Key, list[Members]] = {}
    for text in entries:
        entry = parsed(text.encode())
        key = key_of(entry)
        if key is not None and isinstance(entry, dict):
            found.setdefault(key, []).append(entry)
    return found


def named_inputs(entries: Iterable[Members]) -> set[Key]:
    """Return the datasets that an output's entries name as its inputs, at their own level or under a field."""
    return {key for entry in entries for _, reference in _references(entry) if (key := key_of(reference)) is not None}


def entry_edges(entries: Iterable[Members]) -> Edges:
    """Return the column edges that an output's entries give: ``fields.*.inputs[].field``, or ``inputs[].field`` for ``*``."""
    edges: Edges = {}
    for entry in entries:
        for target, reference in _references(entry):
            for source in sources_of(reference):
                edges.setdefault(target, set()).add(source)
    return reduced(edges)


def _references(entry: Members) -> Iterator[tuple[str, Json]]:
    """Yield (output field or ``*``, reference) for each dataset that an entry names as an input."""
    yield from ((WHOLE, reference) for reference in _inputs(entry))
    fields = entry.get("fields")
    for name, lineage in (fields if isinstance(fields, dict) else {}).items():
        if is_name(name) and isinstance(lineage, dict):
            yield from ((name, reference) for reference in _inputs(lineage))


def _inputs(entry_or_field: Members) -> list[Json]:
    inputs = entry_or_field.get("inputs")
    return [item for item in inputs if is_dataset_reference(item)] if isinstance(inputs, list) else []
