"""Properties of nodes as values: job versions, and what retention stores (specification 10)."""

from __future__ import annotations

import msgspec

from headwater_avro.names import Key
from headwater_graph.model.values import JobVersion, Moment, RetainedCounts, RetainedRead, Row

_decode_read = msgspec.json.Decoder(tuple[int, str, str | None]).decode
_decode_lineage = msgspec.json.Decoder(tuple[tuple[Key, ...], tuple[Key, ...]]).decode


def version_of(row: Row, job: Key) -> JobVersion:
    """Return the job version whose node has these properties."""
    inputs, outputs = _decode_lineage(row["lineage"])
    code_since = None if row["codeMoment"] is None else (row["codeMoment"], row["codeTie"])
    since = (row["moment"], row["madeBy"] or row["text"])
    unknown = bool(row["lineageUnknown"])
    return JobVersion(
        row["id"], job, since, row["madeBy"], inputs, outputs, unknown, row["codeVersion"], code_since, _retained(row)
    )


def _retained(row: Row) -> RetainedCounts | None:
    if row.get("retainedNumber") is None:
        return None
    return RetainedCounts(row["retainedNumber"], row["retainedRuns"], _last(row))


def _last(row: Row) -> Moment | None:
    return None if row.get("retainedLastMoment") is None else (row["retainedLastMoment"], row["retainedLastRun"])


def retained_read(text: str | None) -> RetainedRead | None:
    """Return the read that the property ``retainedRead`` of a dataset contains."""
    if text is None:
        return None
    time, run_id, external = _decode_read(text)
    return RetainedRead((time, run_id), external)


def retained_read_text(read: RetainedRead) -> str:
    """Return the property ``retainedRead`` of a dataset: JSON, ``[time, runId, external or null]``."""
    return msgspec.json.encode((*read.moment, read.external)).decode()
