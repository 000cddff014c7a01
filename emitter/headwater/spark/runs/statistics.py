"""Rows, bytes and files read and written, from the counters of the executed plan's nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..datasets import facets
from ..datasets.names import DatasetName
from ..datasets.tables import Dataset
from ..extension.loading import Parts
from .listener_events import Metrics

Scans = Sequence[tuple[frozenset[int], DatasetName]]


def with_statistics(parts: Parts, scans: Scans, metrics: Metrics) -> Parts:
    """``parts`` with outputStatistics on its one output and inputStatistics on each input that a scan read.

    ``scans`` says which leaf columns are which input's; a scan's counters belong to the input whose columns it gives.
    """
    outputs = parts.outputs
    if len(outputs) == 1:
        outputs = (_output(outputs[0], metrics),)
    read: dict[DatasetName, list[dict[str, Any]]] = {}
    for one in metrics:
        key = next((key for ids, key in scans if not ids.isdisjoint(one.get("output") or ())), None)
        if one.get("leaf") and "numFiles" in one and key is not None:
            read.setdefault(key, []).append(one)
    return replace(parts, inputs=tuple(_input(one, read.get(one.key)) for one in parts.inputs), outputs=outputs)


def _input(dataset: Dataset, scans: list[dict[str, Any]] | None) -> Dataset:
    if not scans:
        return dataset
    rows, size, files = (
        sum(one.get(name) or 0 for one in scans) for name in ("numOutputRows", "filesSize", "numFiles")
    )
    told = facets.input_statistics(rows, size, files)
    return replace(dataset, run_facets={**dataset.run_facets, "inputStatistics": told})


def _output(output: Dataset, metrics: Metrics) -> Dataset:
    for one in metrics:
        if not one.get("leaf") and "numOutputRows" in one and ("numFiles" in one or "numOutputBytes" in one):
            return replace(output, run_facets={**output.run_facets, "outputStatistics": _written(one)})
    return output


def _written(one: dict[str, Any]) -> facets.Facet:
    return facets.output_statistics(one["numOutputRows"], one.get("numOutputBytes"), one.get("numFiles"))
