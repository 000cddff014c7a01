"""What happens to an event on the emitter's own thread before it leaves the process, in this order.

1. as plain values, without nulls; 2. ``throttle``: a RUNNING event without news ends here; 3. ``redaction`` of secrets;
4. the limit of size (``size_budget``): what is shortened, and what moves into further events of the run; 5. as bytes, JSON
or Avro.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..broker import Message
from ..counters import TransportCounters
from ..redaction import Redaction
from ..settings import HeadwaterConfig
from ..wire import NotSerialisable, Tree, key_of, to_json, to_tree
from .size_budget import fit, is_reduced
from .throttle import Throttle


class Preparation:
    """Turns events into messages, and counts what was removed from them; not thread-safe."""

    def __init__(self, config: HeadwaterConfig, counters: TransportCounters) -> None:
        self._config = config
        self._counters = counters
        self._encode = encoder(config.format, config.schema_id)
        self._throttle = Throttle(config.running_interval)
        self._redaction = Redaction(config.redact_patterns) if config.redact else None

    def messages(self, event: Any, now: float) -> list[Message]:
        """Return the messages to send for the event, none if it is throttled; raise NotSerialisable."""
        try:
            tree = to_tree(event)
            if not self._throttle.admits(tree, now):
                self._counters.throttled.increment()
                return []
            return [Message(key_of(part), self._encode(to_json(part))) for part in self._fitted(self._redacted(tree))]
        except (TypeError, ValueError, OverflowError, RecursionError) as fault:
            raise NotSerialisable(f"{type(event).__name__}: {fault}") from fault

    def _redacted(self, tree: Tree) -> Tree:
        if self._redaction is None or not self._redaction.suspects(to_json(tree)):
            return tree
        redacted, count = self._redaction.redact(tree)
        self._counters.redacted.increment(count)
        return redacted

    def _fitted(self, tree: Tree) -> list[Tree]:
        parts = fit(tree, self._config.max_event_bytes)
        if len(parts) > 1 or is_reduced(tree):
            self._counters.cut.increment()
        return parts


def encoder(form: str, schema_id: int = 0) -> Callable[[bytes], bytes]:
    """Return the function from JSON bytes to the bytes of a message, framed if a schema registry has their schema.

    Raises ImportError without the extra that ``avro`` needs.
    """
    frame = b"\x00" + schema_id.to_bytes(4, "big") if schema_id else b""
    if form == "json":
        return (lambda text: frame + text) if frame else bytes
    importlib.import_module("fastavro")  # the codec imports it with the first event, which would be lost without it
    encode_avro: Callable[[bytes], bytes] = importlib.import_module("headwater_avro.codec").encode_avro

    def encode(text: bytes) -> bytes:
        try:
            single = encode_avro(text)
        except ValueError:
            return text  # events that the envelope can't represent stay JSON
        return frame + single[_SINGLE_OBJECT_HEADER:] if frame else single

    return encode


_SINGLE_OBJECT_HEADER = 10
"""Bytes before the record: ``C3 01`` and the fingerprint."""
