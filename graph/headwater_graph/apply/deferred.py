"""Work that is stored for later transactions (specification 12): what is left to do, and from where on.

A batch begins when there is no deferred work, so there is at most one piece of work for one key. Doing more than is
deferred changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from headwater_avro.errors import ServerUnavailable, StoreBusy
from headwater_avro.names import Key, node_key
from headwater_graph.model.values import DeferredWork, JobVersion, Moment, Row
from headwater_graph.store.port import Transaction

RETAIN = "retain"
"""The kind of work of retention: it begins when there is no other work, and no records are written until it is done."""


class ReadsBody(NamedTuple):
    """The readers of a dataset with ``after < moment <= until`` are to be resolved again."""

    dataset: Key
    after: Moment
    until: Moment

    @property
    def key(self) -> tuple[str, ...]:
        return (*self.dataset, str(self.until[0]), self.until[1])


class ExactBody(NamedTuple):
    """The readers of an external version of a dataset with ``after < moment`` are to be resolved again."""

    dataset: Key
    external: str
    after: Moment

    @property
    def key(self) -> tuple[str, ...]:
        return (*self.dataset, self.external)


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

    @property
    def key(self) -> tuple[str, ...]:
        return self.job


class ColumnsBody(Struct, array_like=True):
    """Column edges of a job's output: how many old ones are still to be unlinked, and how many new ones are written."""

    job: Key
    output: Key
    to_unlink: int
    done: int

    @property
    def key(self) -> tuple[str, ...]:
        return self.job + self.output


class RetainBody(Struct, array_like=True):
    """Retention that is under way (specification 10.12): the horizon, the current step, and the key after which to continue."""

    horizon: int
    step: int
    after: str

    key = ()


Body: TypeAlias = ReadsBody | ExactBody | FoldBody | ColumnsBody | RetainBody
"""What is left to do. Its kind and ``key`` identify the work, so that what is deferred again replaces what it continues."""

_BODIES: dict[str, type[Body]] = {
    "reads": ReadsBody,
    "exact": ExactBody,
    "fold": FoldBody,
    "columns": ColumnsBody,
    RETAIN: RetainBody,
}
_KINDS = {body: kind for kind, body in _BODIES.items()}


def defer(body: Body) -> Row:
    """Return the deferred work to do this."""
    kind = _KINDS[type(body)]
    return {"key": node_key(kind, *body.key), "kind": kind, "body": msgspec.msgpack.encode(body)}


def body_of(work: DeferredWork) -> Body:
    """Return what is left to do; raises ValueError if a newer headwater stored it."""
    if work.kind not in _BODIES:
        raise ValueError(f"deferred work of kind {work.kind!r}: a newer headwater stored it, upgrade this one")
    return msgspec.msgpack.decode(work.body, type=_BODIES[work.kind])


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
