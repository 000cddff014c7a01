"""Column lineage and explicit lineage of a job's current version (specification 6.5, 6.6): simple and slow.

Part of the second implementation of the specification (`model.py`). It uses only the standard library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .records import Step, names_dataset
from .wire import Key, key_of, member, objects, text_or_none, valid

STAR = "*"


class Influence(NamedTuple):
    """An edge into one output field, without that field."""

    dataset: Key
    field: str
    type: str | None
    subtype: str | None
    masking: bool
    description: str | None


def influences(items: Any) -> Iterator[Influence]:
    """6.5: an edge for each input field and each of its transformations, one without properties if there is none."""
    for item in objects(items):
        key, field = key_of(item), item.get("field", "")
        if key is None or not valid(field):
            continue
        for change in objects(item.get("transformations")) or [{}]:
            yield Influence(
                key,
                field,
                text_or_none(change.get("type")),
                text_or_none(change.get("subtype")),
                change.get("masking") is True,
                text_or_none(change.get("description")),
            )


def fields_of(container: Any, inputs: str) -> Iterator[tuple[str, Any]]:
    """The valid output fields of a facet or entry, each with its list of inputs."""
    fields = member(container, "fields")
    for name, field in fields.items() if isinstance(fields, dict) else ():
        if valid(name):
            yield name, member(field, inputs)


def reduced(edges: set[tuple[str, Influence]]) -> set[tuple[str, Influence]]:
    """6.5: an INDIRECT edge to `*`, or to every field that has any edge (at least two), leads to `*` alone."""
    fields = {field for field, _ in edges} - {STAR}
    wide = {
        edge
        for _, edge in edges
        if edge.type == "INDIRECT"
        and ((STAR, edge) in edges or (len(fields) >= 2 and all((field, edge) in edges for field in fields)))
    }
    return {(STAR if edge in wide else field, edge) for field, edge in edges}


def facet_edges(facet: Any) -> set[tuple[str, Influence]]:
    """6.5: the edges of one `columnLineage` facet."""
    edges = {(name, edge) for name, items in fields_of(facet, "inputFields") for edge in influences(items)}
    return reduced(edges | {(STAR, edge) for edge in influences(member(facet, "dataset"))})


def entry_edges(entries: list[dict[str, Any]]) -> set[tuple[str, Influence]]:
    """6.6: the field edges of the entries for one output, in the same form."""
    edges: set[tuple[str, Influence]] = set()
    for entry in entries:
        edges |= {(STAR, edge) for edge in influences(dataset_inputs(entry.get("inputs")))}
        for name, items in fields_of(entry, "inputs"):
            edges |= {(name, edge) for edge in influences(dataset_inputs(items))}
    return reduced(edges)


def dataset_inputs(items: Any) -> list[dict[str, Any]]:
    """6.6: the inputs that name a dataset."""
    return [item for item in objects(items) if names_dataset(item) and key_of(item) is not None]


def named_inputs(entries: list[dict[str, Any]]) -> set[Key]:
    """6.6: the inputs that entries name, at their own level or under a valid field."""
    found = {key_of(item) for entry in entries for item in dataset_inputs(entry.get("inputs"))}
    for entry in entries:
        for _, items in fields_of(entry, "inputs"):
            found |= {key_of(item) for item in dataset_inputs(items)}
    return {key for key in found if key is not None}


def last_source(sources: list[Step]) -> Step | None:
    """6.5, 6.6: the last by moment, failed ones only if there is no other."""
    chosen = [step for step in sources if not step.failed] or sources
    return max(chosen, key=lambda step: step.moment, default=None)


def entries_source(members: list[Step]) -> Step | None:
    """6.6: the last member of the version that has any entry."""
    return last_source([step for step in members if step.entries])


def columns_source(steps: list[Step], output: Key) -> Step | None:
    """6.5: the job's last step that carries a facet for this output."""
    return last_source(
        [step for step in steps if isinstance(step.output_facets.get(output, {}).get("columnLineage"), dict)]
    )


def output_edges(steps: list[Step], entries: list[dict[str, Any]] | None, output: Key) -> set[tuple[str, Influence]]:
    """6.5, 6.6: the column edges of one output of the current version; `entries` are the explicit ones of its source."""
    explicit = entry_edges([entry for entry in entries or [] if key_of(entry) == output])
    source = columns_source(steps, output)
    return explicit or facet_edges(source.output_facets[output]["columnLineage"] if source else None)
