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
        if node.get("leaf") and key is not None and not str(node.get("node")).startswith(_NOT_READ):
            read.setdefault(key, []).append(node)
    return replace(parts, inputs=tuple(_input(d, read.get(d.key)) for d in parts.inputs), outputs=outputs)


def _input(dataset: Dataset, scans: list[dict[str, Any]] | None) -> Dataset:
    if not scans:
        return dataset
    statistics = facets.input_statistics(*(_sum(scans, name) for name in ("numOutputRows", "filesSize", "numFiles")))
    return dataset.having_run_facet("inputStatistics", statistics)


# Leaves of executed plans over rows that an earlier run read.
_NOT_READ = ("InMemoryTableScan", "Scan In-memory", "Scan ExistingRDD", "LocalTableScan")


def _sum(scans: list[dict[str, Any]], name: str) -> int | None:
    """Return the sum of a counter; None where no scan has it."""
    counted = [scan[name] for scan in scans if scan.get(name) is not None]
    return sum(counted) if counted else None


def written_counters(metrics: Metrics) -> tuple[int | None, int | None, int | None] | None:
    """Return the rows, bytes and files of the node that wrote; None where no node did."""
    for node in metrics:
        if not node.get("leaf") and "numOutputRows" in node and ("numFiles" in node or "numOutputBytes" in node):
            return node.get("numOutputRows"), node.get("numOutputBytes"), node.get("numFiles")
    return None


def _output(output: Dataset, metrics: Metrics) -> Dataset:
    counters = written_counters(metrics)
    if counters is None:
        return output
    statistics = facets.output_statistics(*counters)
    return output.having_run_facet("outputStatistics", statistics)
