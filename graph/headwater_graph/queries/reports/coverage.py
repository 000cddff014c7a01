"""Producers of lineage and how complete it is: jobs by the producer and version of their last run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.reports.reports import Report
from headwater_graph.queries.runs.run_view import FacetValues, RunView, run_view

NAME = "coverage"
MOST_JOBS = 1_000_000

_HEAD = ("producer", "version", "engine", "jobs", "lineage known", "with columns", "with schema")
_VERSION = re.compile(r"/v?(\d+\.\d+[^/]*)(?=/|$)")


@dataclass(slots=True)
class _Count:
    jobs: int = 0
    known: int = 0
    columns: int = 0
    schema: int = 0


def coverage(reader: GraphReader, limit: int = 100, skip: int = 0) -> Report:
    """Return for each producer and version how many jobs it has, and how many with lineage, columns and schemas; the most first.

    The producer is the ``_producer`` of a run facet, else of a job facet, else of a dataset facet; the version is the adapter
    version in the run facet ``processing_engine``, else the one in the text of the producer.
    """
    counts: dict[tuple[str, str, str], _Count] = {}
    for row in reader.rows("reports/coverage", limit=MOST_JOBS):
        view = run_view(row["record"])
        count = counts.setdefault(_producer_of(view), _Count())
        outputs = [facets for facets, _ in view.outputs.values()]
        count.jobs += 1
        count.known += not row["lineageUnknown"]
        count.columns += any("columnLineage" in facets for facets in outputs)
        count.schema += any("schema" in facets for facets in outputs)
    ranked = sorted(counts.items(), key=lambda item: (-item[1].jobs, item[0]))
    rows = [(*producer, c.jobs, c.known, c.columns, c.schema) for producer, c in ranked[skip:]]
    return Report(NAME, "jobs by the producer of their last run", _HEAD, tuple(rows[:limit]), len(rows) > limit)


def _producer_of(view: RunView) -> tuple[str, str, str]:
    engine = view.run.get("processing_engine")
    facet = engine if isinstance(engine, dict) else {}
    producer = next(chain(_producers(view.run), _producers(view.job), _producers_of_sides(view)), "")
    found = _VERSION.search(producer)
    version = _text(facet, "openlineageAdapterVersion") or (found[1] if found else "")
    named = " ".join(filter(None, (_text(facet, "name"), _text(facet, "version"))))
    return (producer.replace(found[0], "", 1) if found else producer, version, named)


def _producers_of_sides(view: RunView) -> Iterator[str]:
    for side in (view.outputs, view.inputs):
        for facets, own in side.values():
            yield from _producers(facets)
            yield from _producers(own)


def _producers(facets: FacetValues) -> Iterator[str]:
    for facet in facets.values():
        if isinstance(facet, dict) and (text := _text(facet, "_producer")):
            yield text


def _text(facet: Mapping[str, Any], name: str) -> str:
    value = facet.get(name)
    return value if isinstance(value, str) else ""
