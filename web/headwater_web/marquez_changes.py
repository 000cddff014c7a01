"""What clients of Marquez may change: tags of datasets, fields and jobs, and the deletion of jobs and datasets.

The graph is a function of the events, so each change is an event: a DatasetEvent or JobEvent with the facet ``tags``, the
JobEvent that retires a job (specification 3.6), the DatasetEvent that drops a dataset (7.1). Kafka has acknowledged it before the
answer is sent, and it is in the graph once the consumer has read it. What no event can state is refused with 501.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from fastapi import APIRouter, Response

from headwater_avro.metadata_events import dataset_event, dropping_event, job_event, retiring_event
from headwater_graph.model.facet_properties import facets_of
from headwater_graph.model.tags import tags_of
from headwater_graph.queries.catalog.pages import Listed
from headwater_graph.queries.reader import Row

from .callers import SCOPE_KEY, Caller
from .graph_api import Context, RequestContext
from .ingest import send_event
from .marquez import PathName, dataset_values, job_values, named_row
from .marquez_values import Value
from .problems import Problem

PRODUCER = "urn:headwater:web"
PENDING_SECONDS = 60.0
"""How long a change counts that the graph does not show yet: the consumer has read it long before."""
MOST_PENDING = 10_000
NOT_BY_EVENT = "the graph changes by OpenLineage events alone: send them to POST /api/v1/lineage"
NO_PERMISSION = (
    "only operators may delete a job or dataset: "
    "use one of HEADWATER_WEB_OPERATOR_TOKENS, or a user of HEADWATER_WEB_OPERATOR_USERS"
)

Item: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[list[Item]], list[Item]]

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@dataclass(slots=True)
class TagChanges:
    """The tags that this server has sent and that the graph may not show yet.

    A facet ``tags`` replaces the one before it as a whole, so a second change must begin with the result of the first one.
    """

    _pending: dict[str, tuple[list[Item], datetime, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, key: str, stored: list[Item], change: Change, now: datetime) -> tuple[list[Item], datetime]:
        """Return the tags of a node after a change, and the time of their event, later than that of the last one."""
        with self._lock:
            self._forget_old()
            known, last, _ = self._pending.get(key, (stored, None, 0.0))
            at = now if last is None else max(now, last + timedelta(microseconds=1))
            items = change(known)
            self._pending[key] = (items, at, time.monotonic())
            return items, at

    def forget(self, key: str) -> None:
        """Forget a change that was not sent."""
        with self._lock:
            self._pending.pop(key, None)

    def _forget_old(self) -> None:
        oldest = time.monotonic() - PENDING_SECONDS
        recent = [(key, each) for key, each in self._pending.items() if each[2] >= oldest]
        self._pending = dict(recent[-MOST_PENDING + 1 :])


def with_tag(tag: str, of_field: str | None) -> Change:
    """Return the change that adds a tag, which need not be new."""
    return lambda items: [*without_tag(tag, of_field)(items), _item(tag, of_field)]


def without_tag(tag: str, of_field: str | None) -> Change:
    """Return the change that removes a tag, which need not be there."""
    return lambda items: [item for item in items if not _is(item, tag, of_field)]


def _item(tag: str, of_field: str | None) -> Item:
    return {"key": tag, "value": "true", "source": "USER"} | ({"field": of_field} if of_field else {})


def _is(item: Item, tag: str, of_field: str | None) -> bool:
    return any((each.name, each.field) == (tag, of_field) for each in tags_of({"tags": {"tags": [item]}}))


@routes.post("/namespaces/{namespace:path}/datasets/{name:path}/fields/{field:path}/tags/{tag:path}")
def post_field_tag(context: Context, namespace: PathName, name: PathName, field: PathName, tag: PathName) -> Response:
    """Add a tag to a field of a dataset, by an event; return the dataset with it."""
    return _changed(context, "dataset", (namespace, name), with_tag(tag, field))


@routes.delete("/namespaces/{namespace:path}/datasets/{name:path}/fields/{field:path}/tags/{tag:path}")
def delete_field_tag(context: Context, namespace: PathName, name: PathName, field: PathName, tag: PathName) -> Response:
    """Remove a tag from a field of a dataset, by an event; return the dataset without it."""
    return _changed(context, "dataset", (namespace, name), without_tag(tag, field))


@routes.post("/namespaces/{namespace:path}/datasets/{name:path}/tags/{tag:path}")
def post_dataset_tag(context: Context, namespace: PathName, name: PathName, tag: PathName) -> Response:
    """Add a tag to a dataset, by an event; return the dataset with it."""
    return _changed(context, "dataset", (namespace, name), with_tag(tag, None))


@routes.delete("/namespaces/{namespace:path}/datasets/{name:path}/tags/{tag:path}")
def delete_dataset_tag(context: Context, namespace: PathName, name: PathName, tag: PathName) -> Response:
    """Remove a tag from a dataset, by an event; return the dataset without it."""
    return _changed(context, "dataset", (namespace, name), without_tag(tag, None))


@routes.post("/namespaces/{namespace:path}/jobs/{name:path}/tags/{tag:path}")
def post_job_tag(context: Context, namespace: PathName, name: PathName, tag: PathName) -> Response:
    """Add a tag to a job, by an event; return the job with it."""
    return _changed(context, "job", (namespace, name), with_tag(tag, None))


@routes.delete("/namespaces/{namespace:path}/jobs/{name:path}/tags/{tag:path}")
def delete_job_tag(context: Context, namespace: PathName, name: PathName, tag: PathName) -> Response:
    """Remove a tag from a job, by an event; return the job without it."""
    return _changed(context, "job", (namespace, name), without_tag(tag, None))


@routes.put("/tags/{tag:path}", include_in_schema=False)
def put_tag(tag: PathName) -> Response:
    """Refuse to store a tag that nothing has (501): add it to a dataset, field or job."""
    raise Problem(501, f"a tag exists where something has it: POST /api/v1/namespaces/NS/datasets/NAME/tags/{tag}")


@routes.delete("/namespaces/{namespace:path}/jobs/{name:path}")
def delete_job(context: Context, namespace: PathName, name: PathName) -> Response:
    """Retire a job, by an event, as `headwater job retire` does; a later run brings it back. For operators."""
    return _deleted(context, "job", (namespace, name))


@routes.delete("/namespaces/{namespace:path}/datasets/{name:path}")
def delete_dataset(context: Context, namespace: PathName, name: PathName) -> Response:
    """Drop a dataset, by an event; it stays in the graph as dropped until it is written again. For operators."""
    return _deleted(context, "dataset", (namespace, name))


@routes.put("/namespaces/{namespace:path}", include_in_schema=False)
@routes.delete("/namespaces/{namespace:path}", include_in_schema=False)
@routes.put("/sources/{namespace:path}", include_in_schema=False)
@routes.post("/jobs/runs/{namespace:path}", include_in_schema=False)
def refuse_change() -> Response:
    """Refuse what Marquez changes without an event of OpenLineage (501)."""
    raise Problem(501, NOT_BY_EVENT)


def _changed(context: RequestContext, kind: Listed, key: tuple[str, str], change: Change) -> Response:
    """Send the event with the changed tags of a job or dataset, and return it as the event will change it."""
    row = named_row(context.reader, kind, *key)
    facets = facets_of(row["facets"])
    changes: TagChanges = context.request.app.state.tag_changes
    items, at = changes.next(row["key"], _items(facets), change, context.now)
    facet = {"_producer": PRODUCER, "_schemaURL": _SCHEMAS[kind], "tags": items}
    event = (dataset_event if kind == "dataset" else job_event)(PRODUCER, key, at, {"tags": facet})
    try:
        _send(context, event)
    except Exception:
        changes.forget(row["key"])
        raise
    changed = {**row, "facets": json.dumps({**facets, "tags": {"tags": items}})}
    return context.answer(_value(context, kind, changed))


_SCHEMAS = {
    "dataset": "https://openlineage.io/spec/facets/1-0-0/TagsDatasetFacet.json#/$defs/TagsDatasetFacet",
    "job": "https://openlineage.io/spec/facets/1-0-0/TagsJobFacet.json#/$defs/TagsJobFacet",
}


def _items(facets: Value) -> list[Item]:
    facet = facets.get("tags")
    listed = facet.get("tags") if isinstance(facet, dict) else None
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _deleted(context: RequestContext, kind: Literal["job", "dataset"], key: tuple[str, str]) -> Response:
    caller: Caller | None = context.request.scope.get(SCOPE_KEY)
    if caller is None or not caller.is_operator:
        raise Problem(403, NO_PERMISSION)
    row = named_row(context.reader, kind, *key)
    _send(context, (retiring_event if kind == "job" else dropping_event)(PRODUCER, key, context.now))
    return context.answer(_value(context, kind, row))


def _send(context: RequestContext, event: dict[str, Any]) -> None:
    send_event(context.request.app.state.sink, json.dumps(event).encode())


def _value(context: RequestContext, kind: Listed, row: Row) -> Value:
    values = job_values if kind == "job" else dataset_values
    return values(context.reader, [row])[0]
