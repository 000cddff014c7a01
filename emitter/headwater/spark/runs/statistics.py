"""Rows, bytes and files read and written, from the counters of the executed plan's nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..datasets import facets
from ..datasets.names import DatasetName
from ..datasets.tables import Dataset
from ..extension.loading import EventParts
from .listener_events import Metrics

Scans = Sequence[tuple[frozenset[int], DatasetName]]


def with_statistics(parts: EventParts, scans: Scans, metrics: Metrics) -> EventParts:
    """Return ``parts`` with outputStatistics on its only output and inputStatistics on each input that a scan read.

    ``scans`` maps leaf columns to inputs; a scan's counters belong to the input whose columns it returns.
    """
    outputs = parts.outputs
    if len(outputs) == 1:
        outputs = (_output(outputs[0], metrics),)
    read: dict[DatasetName, list[dict[str, Any]]] = {}
    for node in metrics:
        key = next((key for ids, key in scans if not ids.isdisjoint(node.get("output") or ())), None)
        if node.get("leaf") and "numFiles" in node and key is not None:
            read.setdefault(key, []).append(node)
    return replace(parts, inputs=tuple(_input(d, read.get(d.key)) for d in parts.inputs), outputs=outputs)


def _input(dataset: Dataset, scans: list[dict[str, Any]] | None) -> Dataset:
    if not scans:
        return dataset
    names = ("numOutputRows", "filesSize", "numFiles")
    statistics = facets.input_statistics(*(sum(scan.get(name) or 0 for scan in scans) for name in names))
    return replace(dataset, run_facets={**dataset.run_facets, "inputStatistics": statistics})


def _output(output: Dataset, metrics: Metrics) -> Dataset:
    for node in metrics:
        if not node.get("leaf") and "numOutputRows" in node and ("numFiles" in node or "numOutputBytes" in node):
            counters = (node.get(name) for name in ("numOutputRows", "numOutputBytes", "numFiles"))
            statistics = facets.output_statistics(*counters)
            return replace(output, run_facets={**output.run_facets, "outputStatistics": statistics})
    return output
