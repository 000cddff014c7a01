"""Dataset versions (specification 5.1 to 5.4) and DROP (7.1): simple and slow.

Part of the second implementation of the specification (`model.py`). It uses only the standard library.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .records import Moment, Run, without_deleted
from .wire import Event, Facets, Key, canonical, member, objects, text_or_none, valid

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:headwater:ids")


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """5: `moment` is None for the initial and the external versions; `drops` as in 7.1."""

    id: str
    dataset: Key
    moment: Moment | None = None
    run: str | None = None
    external: str | None = None
    state: str | None = None
    schema: list[list[str]] | None = None
    drops: bool = False


def identifier(*parts: Any) -> str:
    """9.4: UUIDv5 of the JSON text of a list."""
    return str(uuid.uuid5(NAMESPACE, canonical(parts)))


def external_of(facets: Facets) -> str | None:
    """5.3."""
    return text_or_none(member(facets, "version", "datasetVersion"))


def schema_of(facets: Facets) -> list[list[str]] | None:
    """5.1: `[name, type]`, or `[name]`, of each item with a valid name; None where there is no list."""
    fields = member(facets, "schema", "fields")
    if not isinstance(fields, list):
        return None
    named = [item for item in objects(fields) if valid(item.get("name"))]
    return [[item["name"], *([item["type"]] if text_or_none(item.get("type")) else [])] for item in named]


def drops(facets: Facets) -> bool:
    """7.1: states DROP."""
    return bool(member(facets, "lifecycleStateChange", "lifecycleStateChange") == "DROP")


def run_made(runs: dict[str, Run]) -> Iterator[DatasetVersion]:
    """5.1: each versioned run makes one version of each of its outputs."""
    for run in runs.values():
        for key, listed in run.outputs.items() if run.moment is not None else ():
            yield DatasetVersion(
                id=identifier(key, run.id),
                dataset=key,
                moment=(run.first_listed[key], run.id) if run.streaming else run.moment,
                run=run.id,
                external=external_of(listed.facets),
                state=run.state,
                schema=schema_of(listed.facets),
                drops=drops(listed.facets),
            )


def event_made(events: list[Event]) -> Iterator[DatasetVersion]:
    """5.4: the versions that DatasetEvents make."""
    for event in events:
        facets = without_deleted(event.dataset_facets)
        if event.dataset is not None and (schema_of(facets) is not None or external_of(facets)):
            yield DatasetVersion(
                id=identifier(event.dataset, "event", event.text),
                dataset=event.dataset,
                moment=(event.time, event.text),
                external=external_of(facets),
                schema=schema_of(facets),
                drops=drops(facets),
            )


def reads_of(run: Run, made: list[DatasetVersion]) -> dict[Key, DatasetVersion]:
    """5.2, 5.3: the version that a versioned run reads of each of its inputs."""
    return {key: version_read(run, key, external_of(listed.facets), made) for key, listed in run.inputs.items()}


def version_read(run: Run, key: Key, external: str | None, made: list[DatasetVersion]) -> DatasetVersion:
    """5.2, 5.3: the exact one where the input names one, else the one before the run."""
    others = [version for version in made if version.dataset == key and version.run != run.id]
    if external is not None:
        same = [version for version in others if version.external == external]
        absent = DatasetVersion(identifier(key, "external", external), key, external=external)
        return latest(before(same, run)) or latest(same) or absent
    return latest(before(others, run)) or DatasetVersion(identifier(key, "initial"), key)


def before(versions: list[DatasetVersion], run: Run) -> list[DatasetVersion]:
    """5.2: those whose moment is less than the run's own."""
    assert run.moment is not None
    return [version for version in versions if version.moment is not None and version.moment < run.moment]


def latest(versions: list[DatasetVersion]) -> DatasetVersion | None:
    """The one with the greatest moment."""
    return max(versions, key=lambda version: version.moment or (0, ""), default=None)
