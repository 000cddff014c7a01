"""Writing the results of folds: versions, the version of each run, run counts, last runs, and where each version ends."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from headwater_avro.canonical import Json, canonical
from headwater_graph.apply.deferred import FoldBody, defer
from headwater_graph.apply.folds import Fold
from headwater_graph.model.node_keys import dataset_node_key, event_node_key, job_node_key, run_node_key
from headwater_graph.model.values import EARLIEST, LATEST, JobVersion, Moment, Row, Writes
from headwater_graph.rules.job_versions import FoldItem
from headwater_graph.store.port import Transaction


def write_folds(tx: Transaction, folds: list[Fold]) -> None:
    """Write the results of folds: versions, the version of each run, counts, ends, and deferred work."""
    merged: dict[str, list[Row]] = {}
    for fold in folds:
        for name, rows in _writes(fold).items():
            merged.setdefault(name, []).extend(rows)
    tx.write(merged)
    ends = [row for fold in folds if fold.appended for row in _appended_ends(fold)]
    refolded = [fold for fold in folds if not fold.appended]
    ends += _ends(tx, refolded)
    latest = tx.versions_before([(fold.job, LATEST) for fold in refolded])
    current = [
        {"job": job_node_key(fold.job), "version": version.id if version else None}
        for fold, version in zip(refolded, latest, strict=True)
    ]
    current += [
        {"job": job_node_key(fold.job), "version": fold.current.id}
        for fold in folds
        if fold.appended and fold.current and (fold.base is None or fold.base.id != fold.current.id)
    ]
    tx.write(
        {
            "set_job_version_ends": [{"id": row["id"], "end": row["end"]} for row in ends],
            "set_last_runs": [row for row in ends if "lastRun" in row],
            "link_current_job_versions": current,
        }
    )


def _writes(fold: Fold) -> Writes:
    fold.dropped -= fold.upserted.keys()
    obsolete = fold.valid.id if fold.deferred and fold.valid and fold.valid.id in fold.dropped else None
    dropped = fold.dropped - {obsolete}
    moved = [(item, before, after) for item, before, after in fold.placed if before != after]
    unlinked = [{"run": run_node_key(item.run_id)} for item, before, _ in moved if item.run_id is not None and before]
    runs = [{"run": run_node_key(item.run_id), "version": id_} for item, _, id_ in moved if item.run_id is not None]
    events = [{"key": event_node_key(item.moment[1]), "version": id_} for item, _, id_ in moved if item.run_id is None]
    return {
        "upsert_job_versions": list(map(version_row, fold.upserted.values())),
        "unlink_ran": unlinked,
        "link_ran": runs,
        "set_job_event_versions": events,
        "set_obsolete_job_versions": [{"id": obsolete}] if obsolete else [],
        "delete_job_versions": [{"id": id_} for id_ in sorted(dropped)],
        "set_run_counts": () if fold.appended else _count_rows(moved, dropped),
        "set_added_runs": _added_runs(fold) if fold.appended else (),
        "upsert_deferred_work": [defer(_rest(fold, obsolete))] if fold.deferred else [],
    }


def _rest(fold: Fold, obsolete: str | None) -> FoldBody:
    assert fold.deferred is not None
    displaced, left = tuple(fold.displaced.values()), tuple(sorted(fold.left))
    return FoldBody(fold.job, fold.deferred, fold.last, fold.valid, obsolete is not None, displaced, left)


def version_row(version: JobVersion) -> Row:
    """Return a job version's node (specification 4)."""
    lineage: list[Json] = [[list(key) for key in side] for side in (version.inputs, version.outputs)]
    return {
        "id": version.id,
        "job": job_node_key(version.job),
        "moment": version.since[0],
        "tie": version.since[1],
        "madeBy": version.made_by,
        "text": version.since[1] if version.made_by is None else None,
        "codeVersion": version.code,
        "codeMoment": version.code_since[0] if version.code_since else None,
        "codeTie": version.code_since[1] if version.code_since else None,
        "lineageUnknown": version.unknown or None,
        "lineage": canonical(lineage),
        "inputs": [dataset_node_key(key) for key in version.inputs],
        "outputs": [dataset_node_key(key) for key in version.outputs],
    }


def _count_rows(moved: list[tuple[FoldItem, str | None, str]], dropped: set[str]) -> tuple[Row, ...]:
    counter: Counter[str] = Counter()
    for item, before, after in moved:
        if item.run_id is not None:
            counter[after] += 1
            if before:
                counter[before] -= 1
    return tuple({"id": id_, "runs": more} for id_, more in counter.items() if more and id_ not in dropped)


def _added_runs(fold: Fold) -> tuple[Row, ...]:
    """Return how many runs an append added to each version, and the last of them."""
    rows: dict[str, Row] = {}
    for item, _, version in fold.placed:
        if item.run_id is not None:
            row = rows.setdefault(version, {"id": version, "runs": 0})
            row |= {"runs": row["runs"] + 1, "lastRun": item.run_id, "lastRunAt": item.moment[0]}
    return tuple(rows.values())


def _appended_ends(fold: Fold) -> list[Row]:
    """Return the ends of the versions that an append made, and of the version that was current before them."""
    base = [fold.base] if fold.base else []
    made = [version for version in fold.upserted.values() if fold.base is None or version.id != fold.base.id]
    chain = [*base, *sorted(made, key=lambda version: version.since)]
    return [{"id": version.id, "end": after.since[0]} for version, after in pairwise(chain)]


def _ends(tx: Transaction, folds: list[Fold]) -> list[Row]:
    """Return the end and the last run of each version that a fold changed, and of the version before these."""
    changed = [_changed_moments(fold) for fold in folds]
    firsts = [(fold.job, min(moments, default=LATEST)) for fold, moments in zip(folds, changed, strict=True)]
    before = tx.versions_before(firsts)
    made = tx.versions_between(
        [(job, first, max(moments, default=EARLIEST)) for (job, first), moments in zip(firsts, changed, strict=True)]
    )
    chains = [[*([base] if base else []), *versions] for base, versions in zip(before, made, strict=True)]
    afters = tx.versions_after(
        [(fold.job, chain[-1].since) for fold, chain in zip(folds, chains, strict=True) if chain]
    )
    following = iter(afters)
    spans = [
        (fold, version, after)
        for fold, chain in zip(folds, chains, strict=True)
        for version, after in (pairwise([*chain, next(following)]) if chain else ())
        if version is not None
    ]
    lasts = tx.last_runs_before([(fold.job, after.since if after else LATEST) for fold, _, after in spans])
    return [_end_row(version, after, last) for (_, version, after), last in zip(spans, lasts, strict=True)]


def _changed_moments(fold: Fold) -> set[Moment]:
    versions = {version.since for version in fold.upserted.values()}
    return versions | {item.moment for item, _, _ in fold.placed} | fold.reached


def _end_row(version: JobVersion, after: JobVersion | None, last: tuple[str, Moment] | None) -> Row:
    removed = version.retained.last if version.retained else None
    present = last[1] if last is not None and last[1] >= version.since else None
    moment = max((moment for moment in (removed, present) if moment is not None), default=None)
    return {
        "id": version.id,
        "end": after.since[0] if after else None,
        "lastRun": moment[1] if moment else None,
        "lastRunAt": moment[0] if moment else None,
    }
