"""What a run's record says (specification 2.5 to 2.8, 3, 5.1): a value that the folds and the store work with.

3.5  A run is *versioned* when it has ended, or, if streaming, as soon as it has any event. Its *moment* is
     (least eventTime, runId) if it is streaming, else (endedAt, runId).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater_avro.events import ABORT, FAIL, TYPE_NAME
from headwater_avro.names import Key, key_text
from headwater_graph.model.records import Facets, Listing, RunRecord
from headwater_graph.model.values import Moment
from headwater_graph.rules import facets as read
from headwater_graph.rules.merge import absorb_facets


@dataclass(frozen=True, slots=True)
class Write:
    """The version that a run makes of one output (specification 5.1); ``drops`` if the run says DROP of it (specification 7)."""

    time: int
    external: str | None
    schema: str | None
    drops: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its record tells it. Sides are sorted by key; ``moment`` is None until the run is versioned.

    ``reads`` gives of each input the external version it was read at, if told (specification 5.3).
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
    reads: dict[Key, str | None] = field(default_factory=dict)
    writes: dict[Key, Write] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the run ended FAIL or ABORT."""
        return self.state in _FAILED

    @property
    def known(self) -> bool:
        """Whether the run knows its lineage (specification 3.1)."""
        return bool(self.inputs or self.outputs)


_FAILED = frozenset((TYPE_NAME[FAIL], TYPE_NAME[ABORT]))


def read_run(run_id: str, record: RunRecord) -> Run:
    """Return what a run's record says."""
    job = job_of_run(record)
    job_facets = run_job_facets(record)
    job_type = read.living(job_facets, "jobType")
    streaming = read.is_streaming(job_type)
    inputs, outputs = sides(record, read.is_snapshot(job_type))
    moment = _moment(run_id, record, streaming)
    return Run(
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
        reads={key: read.external_version(read.living(one.facets, "version")) for key, one in inputs.items()},
        writes={key: _write(one, moment, streaming) for key, one in outputs.items()} if moment else {},
    )


def job_of_run(record: RunRecord) -> Key:
    """Return the job named by the run's last event (specification 2.5); of two that tie, the greater canonical JSON (specification 2.1)."""
    return max(record.jobs, key=lambda key: (record.jobs[key].time, record.jobs[key].rank, key_text(key)))


def run_job_facets(record: RunRecord) -> Facets:
    """Return the container ``job.facets`` of a run, joined over all its events whatever job they name (specification 2.3)."""
    if len(record.jobs) == 1:
        (naming,) = record.jobs.values()
        return naming.facets
    joined: Facets = {}
    for naming in record.jobs.values():
        absorb_facets(joined, naming.facets)
    return joined


def run_parent(record: RunRecord) -> read.Parent:
    """Return whom the run's joined parent facet names (specification 2.8)."""
    texts = [record.facets[name][2] if name in record.facets else None for name in ("parent", "parentRun")]
    return read.parent_of(*texts)


def _state(record: RunRecord) -> str:
    """Specification 2.6: the highest terminal type, else RUNNING if any START or RUNNING is there, else NEW."""
    if record.terminal:
        return TYPE_NAME[record.terminal]
    return "RUNNING" if record.opened else "NEW"


def _moment(run_id: str, record: RunRecord, streaming: bool) -> Moment | None:
    if streaming:
        return (record.first, run_id)
    return None if record.ended is None else (record.ended, run_id)


def sides(record: RunRecord, snapshot: bool) -> tuple[dict[Key, Listing], dict[Key, Listing]]:
    """Return the inputs and outputs that count: all, or those of the last event that lists any (specification 2.2, 2.7)."""
    if not snapshot:
        return record.inputs, record.outputs
    listings = [*record.inputs.values(), *record.outputs.values()]
    last = max(((one.time, one.rank) for one in listings), default=None)
    return (
        {key: one for key, one in record.inputs.items() if (one.time, one.rank) == last},
        {key: one for key, one in record.outputs.items() if (one.time, one.rank) == last},
    )


def _write(listing: Listing, moment: Moment, streaming: bool) -> Write:
    return Write(
        time=listing.first if streaming else moment[0],
        external=read.external_version(read.living(listing.facets, "version")),
        schema=read.schema_of(read.living(listing.facets, "schema")),
        drops=read.says_drop(listing.facets),
    )
