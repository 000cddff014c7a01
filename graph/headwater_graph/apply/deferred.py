"""Work written down for later transactions (specification 12): what, and from where on.

A batch begins when nothing is owed, so of one key there is never more than one piece of work; doing more than is owed
changes nothing.
"""

from __future__ import annotations

from typing import TypeAlias, cast

import msgspec
from msgspec import Struct

from headwater_avro.errors import ServerUnavailable, StoreBusy
from headwater_avro.names import Key, key_hash
from headwater_graph.model.values import JobVersion, Moment, Row
from headwater_graph.store.port import Transaction

ReadsBody: TypeAlias = tuple[Key, Moment, Moment]
ExactBody: TypeAlias = tuple[Key, str, Moment]


class FoldBody(Struct, array_like=True):
    """A job's fold that stopped short: from where on, up to where changes reach, and the stored version valid there.

    A ``doomed`` version goes when the runs that are still placed in it have moved; ``displaced`` ones are written anew at
    an earlier moment already, but still valid as far as what is stored further on is concerned. ``left`` are moments that runs
    left.
    """

    job: Key
    first: Moment
    last: Moment
    valid: JobVersion | None
    doomed: bool
    displaced: tuple[JobVersion, ...] = ()
    left: tuple[Moment, ...] = ()


class ColumnsBody(Struct, array_like=True):
    """Column edges of a job's output: how many old ones are still to be cut, and how many new ones are written."""

    job: Key
    output: Key
    to_cut: int
    done: int


class RetainBody(Struct, array_like=True):
    """Retention that stopped short (specification 7): the horizon, which of its steps is under way, and the key to go on after."""

    horizon: int
    step: int
    after: str


_encode = msgspec.msgpack.Encoder().encode
_decode_reads = msgspec.msgpack.Decoder(ReadsBody).decode
_decode_exact = msgspec.msgpack.Decoder(ExactBody).decode
_decode_fold = msgspec.msgpack.Decoder(FoldBody).decode
_decode_retain = msgspec.msgpack.Decoder(RetainBody).decode
_decode_columns = msgspec.msgpack.Decoder(ColumnsBody).decode


def defer_reads(dataset: Key, after: Moment, until: Moment) -> Row:
    """The readers of a dataset with a moment after one and until another are to be resolved again."""
    return _row("reads", (dataset, after, until), *dataset, str(until[0]), until[1])


def defer_exact(dataset: Key, external: str, after: Moment) -> Row:
    """The readers of an external version with a moment after one are to be resolved again."""
    return _row("exact", (dataset, external, after), *dataset, external)


def defer_fold(body: FoldBody) -> Row:
    """A job is to be folded on from a moment."""
    return _row("fold", body, *body.job)


def defer_columns(body: ColumnsBody) -> Row:
    """The column edges of a job's output are to be written."""
    return _row("columns", body, *body.job, *body.output)


RETAIN = "retain"
"""The kind of work that retention is. It begins when nothing is owed, and nothing is settled until it is done."""


def defer_retention(body: RetainBody) -> Row:
    """What lies before a horizon is to be removed."""
    return {"key": key_hash(RETAIN), "kind": RETAIN, "body": _encode(body)}


REBUILD: Row = {"key": "!", "kind": "rebuild", "body": b""}
"""The whole graph is to be derived anew: its key comes before all others, so whoever asks what is owed sees it."""


class RebuildUnfinished(ServerUnavailable):
    """The graph is being rebuilt or a rebuild was broken off: nothing else may be written until it is done."""

    def __init__(self) -> None:
        super().__init__("the graph", "the store", "it is being rebuilt")
        self.args = (
            "the graph is being rebuilt, or a rebuild was broken off: run `headwater graph rebuild` to its end",
        )

    def __reduce__(self) -> tuple[type[RebuildUnfinished], tuple[()]]:  # type: ignore[override]
        return (type(self), ())


class RetentionUnfinished(StoreBusy):
    """What lies before the horizon is being removed: that is owed work, to be done before anything else is settled."""


def refuse_while_unfinished(tx: Transaction) -> None:
    """Raise RebuildUnfinished or RetentionUnfinished while one is under way: what it takes away is not there to settle with."""
    first = {one.kind for one in tx.deferred(1)}
    if REBUILD["kind"] in first:
        raise RebuildUnfinished
    if RETAIN in first:
        raise RetentionUnfinished("what lies before the horizon is being removed")


def _row(kind: str, body: object, *key: str) -> Row:
    return {"key": key_hash(kind, *key), "kind": kind, "body": _encode(body)}


def reads_body(body: bytes) -> ReadsBody:
    """Return (dataset, after, until)."""
    return cast("ReadsBody", _decode_reads(body))


def exact_body(body: bytes) -> ExactBody:
    """Return (dataset, external version, after)."""
    return cast("ExactBody", _decode_exact(body))


def fold_body(body: bytes) -> FoldBody:
    """Return the fold to go on with."""
    return _decode_fold(body)


def retain_body(body: bytes) -> RetainBody:
    """Return the retention to go on with."""
    return _decode_retain(body)


def columns_body(body: bytes) -> ColumnsBody:
    """Return the column edges to go on with."""
    return _decode_columns(body)
