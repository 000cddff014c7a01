"""What the events of one run told, read from its record by the rules that the graph itself is made by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headwater_avro.names import Key
from headwater_graph.model.records import Facets, Listing, RunRecord, unpack
from headwater_graph.queries.runs.run_events import EMPTY_RUN_VIEW, RunView, Told
from headwater_graph.rules import facets as read
from headwater_graph.rules.runs import run_job_facets, sides


def run_view(record: bytes | None) -> RunView:
    """Open the packed record of a run: its facets as they count, and those of the datasets on its sides (specification 2.3 to 2.7).

    A run without a record (a placeholder) tells nothing. Raises ValueError for a record that a newer headwater wrote.
    """
    if record is None:
        return EMPTY_RUN_VIEW
    opened = unpack(record, RunRecord)
    job_facets = run_job_facets(opened)
    inputs, outputs = sides(opened, read.is_snapshot(read.living(job_facets, "jobType")))
    return RunView(
        run=_told(opened.facets),
        job=_told(read.without_deleted(job_facets)),
        inputs=_listings(inputs),
        outputs=_listings(outputs),
    )


def _listings(side: Mapping[Key, Listing]) -> dict[Key, tuple[Told, Told]]:
    return {key: (_told(read.without_deleted(one.facets)), _told(one.own)) for key, one in sorted(side.items())}


def _told(facets: Facets) -> dict[str, Any]:
    return {name: json.loads(text) for name, (_, _, text) in sorted(facets.items())}
