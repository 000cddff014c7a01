"""What happens to an event on the emitter's own thread before it leaves the process, in this order.

1. as plain values, without nulls; 2. `throttle`: a RUNNING event that says nothing new ends here; 3. `redaction` of
secrets; 4. the size `budget`: what is cut, and what is moved into further events of the run; 5. as bytes, JSON or Avro.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from headwater.transport.broker import Message
from headwater.transport.budget import fit
from headwater.transport.counters import Ledger
from headwater.transport.redaction import Redaction
from headwater.transport.settings import HeadwaterConfig
from headwater.transport.throttle import Throttle
from headwater.transport.wire import NotSerialisable, Tree, key_of, to_json, to_tree


class Preparation:
    """Turns events into messages, and counts what it took from them; not for several threads at once."""

    def __init__(self, config: HeadwaterConfig, ledger: Ledger) -> None:
        self._config = config
        self._ledger = ledger
        self._encode = encoder(config.format, config.schema_id)
        self._throttle = Throttle(config.running_interval)
        self._redaction = Redaction(config.redact_patterns) if config.redact else None

    def messages(self, event: Any, now: float) -> list[Message]:
        """The messages to send for the event, none if it is throttled; raises NotSerialisable."""
        try:
            tree = to_tree(event)
            if not self._throttle.admits(tree, now):
                self._ledger.throttled.tick()
                return []
            return [Message(key_of(part), self._encode(to_json(part))) for part in self._fitted(self._redacted(tree))]
        except (TypeError, ValueError, OverflowError, RecursionError) as fault:
            raise NotSerialisable(f"{type(event).__name__}: {fault}") from fault

    def _redacted(self, tree: Tree) -> Tree:
        if self._redaction is None or not self._redaction.suspects(to_json(tree)):
            return tree
        clean, count = self._redaction.redact(tree)
        self._ledger.redacted.add(count)
        return clean

    def _fitted(self, tree: Tree) -> list[Tree]:
        parts = fit(tree, self._config.max_event_bytes)
        if len(parts) > 1 or _was_cut(tree):
            self._ledger.cut.tick()
        return parts


def _was_cut(tree: Tree) -> bool:
    subject = tree.get("run", tree.get("job", tree.get("dataset")))
    facets = subject.get("facets") if isinstance(subject, dict) else None
    return isinstance(facets, dict) and "headwater_cut" in facets


def encoder(form: str, schema_id: int = 0) -> Callable[[bytes], bytes]:
    """From JSON bytes to the bytes on the wire, framed where a schema registry has their schema under an id.

    Raises ImportError without the extra that ``avro`` needs.
    """
    frame = b"\x00" + schema_id.to_bytes(4, "big") if schema_id else b""
    if form == "json":
        return (lambda text: frame + text) if frame else bytes
    encode_avro: Callable[[bytes], bytes] = importlib.import_module("headwater_avro.codec").encode_avro

    def encode(text: bytes) -> bytes:
        try:
            single = encode_avro(text)
        except ValueError:
            return text  # what the envelope can't hold stays JSON
        return frame + single[_SINGLE_OBJECT_HEAD:] if frame else single

    return encode


_SINGLE_OBJECT_HEAD = 10
"""Bytes before the record: ``C3 01`` and the fingerprint."""
