"""Messages in, merged records out: the kernel that runs on each partition of the topic (specification 11).

A message that can't be used raises EventRejected and leaves nothing behind; everything else that was added stays. The writer
merges records of one key from several coalescers again, because the merge is idempotent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from headwater_avro.codec import DEFAULT_DECOMPRESSION, Decompression, event_json
from headwater_avro.errors import EventRejected
from headwater_avro.events import Event, JobEvent, RunEvent
from headwater_avro.json_codec import read_event
from headwater_graph.model.records import RunRecord, pack
from headwater_graph.rules.horizon import older_than
from headwater_graph.rules.merge import absorb_run, run_of

RowKind: TypeAlias = Literal["run", "job_event", "dataset_event"]

Position: TypeAlias = tuple[int, int]
"""The position of a message in its topic: (partition, offset)."""

MergedRow: TypeAlias = tuple[RowKind, bytes, bytes, bytes]
"""(kind, key, payload, sources): a packed record under its runId, or the canonical JSON of an event under itself."""


class Coalescer:
    """Merges messages by run; ``size`` is the bytes of their JSON texts, so that a caller can stay within bounds.

    ``bounds`` are times by runId: older events of these runs are rejected (specification 10.11). ``decompression`` limits
    the content of a compressed message.
    """

    def __init__(
        self, bounds: Mapping[str, int] | None = None, decompression: Decompression = DEFAULT_DECOMPRESSION
    ) -> None:
        self._bounds = bounds or {}
        self._decompression = decompression
        self.size = 0
        self._runs: dict[str, RunRecord] = {}
        self._texts: dict[tuple[RowKind, str], None] = {}
        self._sources: dict[tuple[RowKind, str], list[Position]] = {}

    def add(
        self,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        *,
        source: Position | None = None,
        check: Callable[[Event], None] | None = None,
    ) -> None:
        """Merge a message. Raises EventRejected if it can't be used (specification 8); nothing of it is held then.

        ``check`` may raise EventRejected for an event that its producer may not send.

        The same is true of any other exception: the message is read, facets included, before anything is changed, and the
        merge that changes a record compares only texts of facets that were found to be valid JSON.
        """
        text = event_json(value, headers, self._decompression)
        event = read_event(text)
        if check is not None:
            check(event)
        if isinstance(event, RunEvent):
            self._check_bound(event)
            self._add_run(run_of(event), event.run_id)
            entity: tuple[RowKind, str] = ("run", event.run_id)
        else:
            entity = ("job_event" if isinstance(event, JobEvent) else "dataset_event", event.text)
            self._texts[entity] = None
        if source is not None:
            self._sources.setdefault(entity, []).append(source)
        self.size += len(text)

    def _check_bound(self, event: RunEvent) -> None:
        bound = self._bounds.get(event.run_id)
        if bound is not None and event.time < bound:
            raise EventRejected("before_horizon", older_than(bound))

    def _add_run(self, record: RunRecord, run_id: str) -> None:
        known = self._runs.setdefault(run_id, record)
        if known is not record:
            absorb_run(known, record)

    def rows(self) -> Iterator[MergedRow]:
        """Yield the merged records and events, then forget them."""
        for run_id, record in self._runs.items():
            yield "run", run_id.encode(), pack(record), self._packed_sources("run", run_id)
        for kind, text in self._texts:
            yield kind, text.encode(), text.encode(), self._packed_sources(kind, text)
        for held in (self._runs, self._texts, self._sources):
            held.clear()
        self.size = 0

    def _packed_sources(self, kind: RowKind, key: str) -> bytes:
        return pack_sources(self._sources.get((kind, key), []))


pack_sources: Callable[[Sequence[Position]], bytes] = msgspec.msgpack.Encoder().encode
"""Return positions as bytes."""

unpack_sources = msgspec.msgpack.Decoder(list[Position]).decode
"""Return the positions that ``pack_sources`` packed."""
