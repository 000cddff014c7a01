"""The facts in an emitter's events, and the differences of two emitters.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Event = dict[str, Any]
Fact = tuple[str, ...]
"""One statement: ("input", namespace, name), ("schema", name, column, type), ("column", output, column, source, kind)."""


def facts(events: Iterable[Event], work: str) -> set[Fact]:
    """Return the facts of a job's runs, without the application's; ``work`` is written as ``$WORK``."""
    found: set[Fact] = set()
    for event in events:
        if _job_type(event) != "APPLICATION":
            for side in ("inputs", "outputs"):
                for dataset in event.get(side) or ():
                    found.update(_of_dataset(side, dataset))
    return {tuple(part.replace(work, "$WORK") for part in fact) for fact in found}


def _job_type(event: Event) -> str:
    facet = (event["job"].get("facets") or {}).get("jobType") or {}
    return str(facet.get("jobType"))


def _of_dataset(side: str, dataset: dict[str, Any]) -> Iterator[Fact]:
    name = dataset["name"]
    yield (side.removesuffix("s"), dataset["namespace"], name)
    facets = dataset.get("facets") or {}
    for path, kind in _columns(facets.get("schema", {}).get("fields") or (), ""):
        yield ("schema", name, path, kind)
    lineage = facets.get("columnLineage") or {}
    for column, entry in (lineage.get("fields") or {}).items():
        for source in entry.get("inputFields") or ():
            yield from (("column", name, column, *edge) for edge in _edges(source))
    for source in lineage.get("dataset") or ():
        yield from (("column", name, "*", *edge) for edge in _edges(source))


def _columns(fields: Iterable[dict[str, Any]], prefix: str) -> Iterator[tuple[str, str]]:
    for field in fields:
        yield prefix + field["name"], str(field.get("type"))
        yield from _columns(field.get("fields") or (), f"{prefix}{field['name']}.")


def _edges(source: dict[str, Any]) -> Iterator[tuple[str, str]]:
    where = f"{source['namespace']} {source['name']} {source.get('field')}"
    kinds: list[dict[str, Any]] = source.get("transformations") or [{}]
    for how in kinds:
        masked = " MASKED" if how.get("masking") else ""
        yield where, f"{how.get('type')} {how.get('subtype')}{masked}"


def expected(reference: dict[str, Any]) -> set[Fact]:
    """Return the facts of a file of ``spark-reference/expected``."""
    found: set[Fact] = set()
    for run in reference["runs"]:
        for side in ("inputs", "outputs"):
            found.update((side.removesuffix("s"), namespace, name) for namespace, name in run[side])
        found.update(("schema", name, *map(str, column)) for name, fields in run["schema"].items() for column in fields)
        for name, columns in run["columnLineage"].items():
            for column, sources in columns.items():
                found.update(_expected_edge(name, column, source) for source in sources)
    return found


def _expected_edge(name: str, column: str, source: dict[str, Any]) -> Fact:
    where = f"{source['namespace']} {source['name']} {source['field']}"
    masked = " MASKED" if source["masking"] else ""
    return (
        "column",
        name,
        "*" if column == "dataset" else column,
        where,
        f"{source['type']} {source['subtype']}{masked}",
    )


def recorded(lines: str) -> set[Fact]:
    """Return the facts of a ``.facts`` file, one per line."""
    return {tuple(line.split(" | ")) for line in lines.splitlines()}


def difference(ours: set[Fact], theirs: set[Fact]) -> list[str]:
    """Return the facts of ours only (``+``) and of theirs only (``-``), one line each, sorted."""
    return sorted(
        [f"+ {' | '.join(fact)}" for fact in ours - theirs] + [f"- {' | '.join(fact)}" for fact in theirs - ours]
    )
