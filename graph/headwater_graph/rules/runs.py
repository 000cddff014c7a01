"""What a run record states (specification 2.5 to 2.8, 3, 5.1, 6.5, 6.6): read once, as a value that everything else uses.

3.5  A run is *versioned* when it has ended or, if it is streaming, as soon as it has any event. Its *moment* is
     (least eventTime, runId) if it is streaming, else (endedAt, runId).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater_avro.events import ABORT, FAIL, TYPE_NAME
from headwater_avro.names import Key, key_text
from headwater_graph.model.records import Facets, Listing, RunRecord
from headwater_graph.model.values import Moment
from headwater_graph.rules import facets as read
from headwater_graph.rules.dataset_versions import VersionContent, version_content
from headwater_graph.rules.merge import absorb_facets


@dataclass(frozen=True, slots=True)
class RunReading:
    """What a run's record states. Sides are sorted by key; ``moment`` is None until the run is versioned.

    ``reads`` has the external version that each input names, if any (specification 5.3), ``writes`` what the version of
    each output carries (5.1), ``columns`` the column lineage facets of outputs (6.5), ``entries`` the explicit lineage (6.6).
    ``writes`` and ``columns`` are empty until the run is versioned.
    """

    id: str
    job: Key
    conflicts: tuple[Key, ...]
    state: str
    started: int | None
    ended: int | None
    last: int
    streaming: bool
    moment: Moment | None
    inputs: tuple[Key, ...]
    outputs: tuple[Key, ...]
    code: str | None
    parent: read.Parent
    error: str | None
    entries: frozenset[str]
    reads: dict[Key, str | None] = field(default_factory=dict)
    writes: dict[Key, VersionContent] = field(default_factory=dict)
    columns: dict[Key, bytes] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the run ended with FAIL or ABORT."""
        return self.state in _FAILED

    @property
    def known(self) -> bool:
        """Whether the lineage of the run is known (specification 3.1)."""
        return bool(self.inputs or self.outputs)


_FAILED = frozenset((TYPE_NAME[FAIL], TYPE_NAME[ABORT]))


def read_run(run_id: str, record: RunRecord) -> RunReading:
    """Return what a run's record states."""
    job = job_of_run(record)
    job_facets = run_job_facets(record)
    job_type = read.living(job_facets, "jobType")
    streaming = read.is_streaming(job_type)
    inputs, outputs = sides(record, read.is_snapshot(job_type))
    moment = _moment(run_id, record, streaming)
    return RunReading(
        id=run_id,
        job=job,
        conflicts=tuple(sorted(key for key in record.jobs if key != job)),
        state=_state(record),
        started=record.started,
        ended=record.ended,
        last=record.last,
        streaming=streaming,
        moment=moment,
        inputs=tuple(sorted(inputs)),
        outputs=tuple(sorted(outputs)),
        code=read.code_version(job_facets),
        parent=run_parent(record),
        error=_error(record),
        entries=frozenset(record.entries),
        reads={key: read.external_version(read.living(item.facets, "version")) for key, item in inputs.items()},
        writes=_writes(outputs, moment, streaming) if moment else {},
        columns=column_facets(outputs) if moment else {},
    )


def job_of_run(record: RunRecord) -> Key:
    """Return the job that the run's last event names (specification 2.5); in a tie the greater canonical JSON (2.1)."""
    return max(record.jobs, key=lambda key: (record.jobs[key].time, record.jobs[key].rank, key_text(key)))


def run_job_facets(record: RunRecord) -> Facets:
    """Return the container ``job.facets`` of a run, merged over all its events, whatever job they name (specification 2.3)."""
    if len(record.jobs) == 1:
        (naming,) = record.jobs.values()
        return naming.facets
    merged: Facets = {}
    for naming in record.jobs.values():
        absorb_facets(merged, naming.facets)
    return merged


def run_parent(record: RunRecord) -> read.Parent:
    """Return the parent that the run's merged facets name (specification 2.8)."""
    texts = [record.facets[name][2] if name in record.facets else None for name in ("parent", "parentRun")]
    return read.parent_of(*texts)


def _writes(outputs: dict[Key, Listing], moment: Moment, streaming: bool) -> dict[Key, VersionContent]:
    return {key: version_content(item.first if streaming else moment[0], item.facets) for key, item in outputs.items()}


def _error(record: RunRecord) -> str | None:
    instance = record.facets.get("errorMessage")
    return read.text_member(read.members(instance[2]), "message") if instance else None


def _state(record: RunRecord) -> str:
    """Return the highest terminal type, else RUNNING if there is a START or RUNNING, else NEW (specification 2.6)."""
    if record.terminal:
        return TYPE_NAME[record.terminal]
    return "RUNNING" if record.opened else "NEW"


def _moment(run_id: str, record: RunRecord, streaming: bool) -> Moment | None:
    if streaming:
        return (record.first, run_id)
    return None if record.ended is None else (record.ended, run_id)


def sides(record: RunRecord, snapshot: bool) -> tuple[dict[Key, Listing], dict[Key, Listing]]:
    """Return the inputs and outputs that count: all, or those that the last listing event lists (specification 2.2, 2.7)."""
    if not snapshot:
        return record.inputs, record.outputs
    listings = [*record.inputs.values(), *record.outputs.values()]
    last = max(((item.time, item.rank) for item in listings), default=None)
    return (
        {key: item for key, item in record.inputs.items() if (item.time, item.rank) == last},
        {key: item for key, item in record.outputs.items() if (item.time, item.rank) == last},
    )


def column_facets(outputs: dict[Key, Listing]) -> dict[Key, bytes]:
    """Return the column lineage facets of outputs; a facet that is not an object is absent (specification 1.5, 6.5)."""
    found = ((key, read.living(listing.facets, "columnLineage")) for key, listing in outputs.items())
    return {key: text for key, text in found if text is not None and text.lstrip()[:1] == b"{"}
