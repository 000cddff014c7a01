"""Dataset facets that no run and no stored event contains: those of DatasetEvents that made no version.

For each facet in an exported event, its order and a digest of its text are remembered. Every other facet of a dataset's
record came from an event that the graph does not store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from headwater_avro.canonical import canonical_text
from headwater_avro.events import DatasetEvent, JobEvent
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key
from headwater_avro.times import format_time
from headwater_graph.audit.export.reconstruct import PRODUCER, SCHEMA, Order
from headwater_graph.model.records import DatasetRecord, Facets, Instance, RunRecord
from headwater_graph.rules.merge import dataset_of, datasets_in, sides_of

NO_TIME = 0
"""The eventTime, in 1970, of the event of a dataset that was named without any facet."""


class RemainingFacets:
    """For each facet of each dataset, the greatest order in exported events, and the digests of its texts with that order."""

    def __init__(self) -> None:
        self._exported: dict[Key, dict[str, tuple[Order, frozenset[int]]]] = {}

    def add_run(self, record: RunRecord) -> None:
        """Remember the dataset facets of an exported run."""
        self._add(datasets_in(record.inputs, record.outputs))

    def add_event(self, text: str) -> None:
        """Remember the dataset facets of an exported JobEvent or DatasetEvent."""
        match read_event(text.encode()):
            case DatasetEvent() as event:
                self._add({event.dataset: dataset_of(event)})
            case JobEvent() as event:
                self._add(datasets_in(*sides_of(event)))

    def _add(self, datasets: Mapping[Key, DatasetRecord]) -> None:
        for key, record in datasets.items():
            known = self._exported.setdefault(key, {})
            for name, instance in record.facets.items():
                order, digests = known.get(name, ((instance[0], -1), frozenset[int]()))
                if instance[:2] >= order:
                    others = digests if instance[:2] == order else frozenset[int]()
                    known[name] = (instance[:2], others | {_digest(instance)})

    def remaining(self, key: Key, record: DatasetRecord) -> Iterator[bytes]:
        """Yield, by time, DatasetEvents with the facets of a dataset's record that no exported event contains."""
        left: dict[int, Facets] = {}
        for name, instance in record.facets.items():
            if not self._has(key, name, instance):
                left.setdefault(instance[0], {})[name] = instance
        if key not in self._exported and not left:
            left[NO_TIME] = {}
        return (_event(key, time, facets) for time, facets in sorted(left.items()))

    def _has(self, key: Key, name: str, instance: Instance) -> bool:
        order, digests = self._exported.get(key, {}).get(name, (None, frozenset[int]()))
        return order == instance[:2] and _digest(instance) in digests


def _digest(instance: Instance) -> int:
    # Digests stay in this process, so Python's own hash suffices, with a fraction of the memory of the text.
    return hash(canonical_text(instance[2]))


def _event(key: Key, time: int, facets: Facets) -> bytes:
    dataset = {"namespace": key[0], "name": key[1]}
    texts = {name: msgspec.Raw(instance[2]) for name, instance in sorted(facets.items())}
    shared = {"eventTime": format_time(time), "producer": PRODUCER, "schemaURL": f"{SCHEMA}DatasetEvent"}
    return msgspec.json.encode(shared | {"dataset": dataset | ({"facets": texts} if texts else {})})
