"""What the page shows first, and the state of the consumer: ``/api/v1/graph/overview`` and ``/api/v1/graph/consumer``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Depends, Query, Request, Response

from headwater_avro.errors import ServerUnavailable
from headwater_graph.queries.reports.consumer_state import Offsets, consumer_state
from headwater_graph.queries.reports.overview import overview

from .etags import answered
from .graph_api import Context, only_described

Ends: TypeAlias = Callable[[Iterable[str]], Offsets]
"""Returns the offsets after the last messages of some topics; raises ServerUnavailable if Kafka does not answer."""

routes = APIRouter(prefix="/api/v1/graph", tags=["graph"], dependencies=[Depends(only_described)])


@routes.get("/overview")
def get_overview(
    context: Context, limit: Annotated[int, Query(ge=1, le=100, description="of each list")] = 10
) -> Response:
    """Return counts of datasets, jobs and runs, and the latest runs, failed runs, silent runs and changes of jobs."""
    return context.answer(overview(context.reader, context.now, limit).value())


@routes.get("/consumer")
def get_consumer(request: Request, context: Context) -> Response:
    """Return the state of the consumer as the graph has it: last write, offsets, losses, deferred work.

    With Kafka also the lag; `kafka` says why it is missing if Kafka does not answer.
    """
    state = consumer_state(context.reader)
    ends, more = _ends(request.app.state.ends, state.offsets)
    return answered(request, state.value(ends) | more)


def _ends(ends: Ends | None, topics: Iterable[str]) -> tuple[Offsets | None, dict[str, Any]]:
    if ends is None:
        return None, {}
    try:
        return ends(topics), {}
    except ServerUnavailable as fault:
        return None, {"kafka": f"{fault.server} does not answer"}
