"""Work that is stored for later transactions (specification 12): what is left to do, and from where on.

A batch begins when there is no deferred work, so there is at most one piece of work for one key. Doing more than is
deferred changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from headwater_avro.errors import ServerUnavailable, StoreBusy
from headwater_avro.names import Key, node_key
from headwater_graph.model.values import JobVersion, Moment, Row
from headwater_graph.store.port import Transaction

ReadsBody: TypeAlias = tuple[Key, Moment, Moment]
"""(dataset, after, until): the readers with moments between these are to be resolved again."""

ExactBody: TypeAlias = tuple[Key, str, Moment]
"""(dataset, external version, after): the readers of the external version after this moment are to be resolved again."""


class FoldBody(Struct, array_like=True):
    """A fold of a job that stopped at a limit: where to continue, the last changed moment, the stored version valid there.

    ``obsolete``: the version ``valid`` is to be deleted once the runs that are still in it have moved. ``displaced`` are
    versions that are written at an earlier moment already, but still valid for what is stored further on. ``left`` are
    moments that runs left.
    """

    job: Key
    first: Moment
    last: Moment
    valid: JobVersion | None
    obsolete: bool
    displaced: tuple[JobVersion, ...] = ()
    left: tuple[Moment, ...] = ()


class ColumnsBody(Struct, array_like=True):
    """Column edges of a job's output: how many old ones are still to be unlinked, and how many new ones are written."""

    job: Key
    output: Key
    to_unlink: int
    done: int


class RetainBody(Struct, array_like=True):
    """Retention that is under way (specification 10.12): the horizon, the current step, and the key after which to continue."""

    horizon: int
    step: int
    after: str


_encode = msgspec.msgpack.Encoder().encode
reads_body: Callable[[bytes], ReadsBody] = msgspec.msgpack.Decoder(ReadsBody).decode
exact_body: Callable[[bytes], ExactBody] = msgspec.msgpack.Decoder(ExactBody).decode
fold_body = msgspec.msgpack.Decoder(FoldBody).decode
columns_body = msgspec.msgpack.Decoder(ColumnsBody).decode
retain_body = msgspec.msgpack.Decoder(RetainBody).decode


def defer_reads(dataset: Key, after: Moment, until: Moment) -> Row:
    """Return the deferred work to resolve again the readers of a dataset with ``after < moment <= until``."""
    return _row("reads", (dataset, after, until), *dataset, str(until[0]), until[1])


def defer_exact(dataset: Key, external: str, after: Moment) -> Row:
    """Return the deferred work to resolve again the readers of an external version with ``after < moment``."""
    return _row("exact", (dataset, external, after), *dataset, external)


def defer_fold(body: FoldBody) -> Row:
    """Return the deferred work to continue the fold of a job."""
    return _row("fold", body, *body.job)


def defer_columns(body: ColumnsBody) -> Row:
    """Return the deferred work to replace the column edges of a job's output."""
    return _row("columns", body, *body.job, *body.output)


RETAIN = "retain"
"""The kind of work of retention: it begins when there is no other work, and no records are written until it is done."""


def defer_retention(body: RetainBody) -> Row:
    """Return the deferred work to remove what is before a horizon."""
    return {"key": node_key(RETAIN), "kind": RETAIN, "body": _encode(body)}


REBUILD: Row = {"key": "!", "kind": "rebuild", "body": b""}
"""The work to derive the whole graph again; its key is the least, so that it is the first work that is read."""


class RebuildUnfinished(ServerUnavailable):
    """The graph is being rebuilt, or a rebuild was interrupted: nothing else may be written until it is done."""

    def __init__(self) -> None:
        super().__init__("the graph", "the store", "it is being rebuilt")
        self.args = (
            "the graph is being rebuilt, or a rebuild was interrupted: run `headwater graph rebuild` to its end",
        )

    def __reduce__(self) -> tuple[type[RebuildUnfinished], tuple[()]]:  # type: ignore[override]
        return (type(self), ())


class RetentionUnfinished(StoreBusy):
    """What is before the horizon is being removed: this deferred work is done before any records are written."""


def refuse_while_unfinished(tx: Transaction) -> None:
    """Raise RebuildUnfinished or RetentionUnfinished while one is under way: what it removes can't be merged with."""
    kinds = {work.kind for work in tx.deferred(1)}
    if REBUILD["kind"] in kinds:
        raise RebuildUnfinished
    if RETAIN in kinds:
        raise RetentionUnfinished("what is before the horizon is being removed")


def _row(kind: str, body: object, *key: str) -> Row:
    return {"key": node_key(kind, *key), "kind": kind, "body": _encode(body)}
