"""Spark's progress reports: they give the lag, and are a sign of life."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from headwater_consumer.monitoring.health import Lag

if TYPE_CHECKING:
    from headwater_consumer.monitoring.health import Status

logger = logging.getLogger("headwater.progress")


class ProgressLog(StreamingQueryListener):
    """Passes the lag of each progress report to the metrics, and logs the report in one line."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def onQueryStarted(self, event: Any) -> None:
        logger.info("query started", extra={"query": str(event.id), "run": str(event.runId)})

    def onQueryProgress(self, event: Any) -> None:
        progress = event.progress
        source = progress.sources[0]
        lag = lag_of(source.endOffset, source.latestOffset)
        self._status.moved(Lag(progress.batchId, lag_of(source.startOffset, source.latestOffset), lag))
        if progress.numInputRows:
            logger.info("progress", extra=_line(progress, lag))

    def onQueryIdle(self, event: Any) -> None:
        self._status.moved(None)

    def onQueryTerminated(self, event: Any) -> None:
        logger.info("query ended", extra={"query": str(event.id)})


def lag_of(end: str | None, latest: str | None) -> dict[str, int]:
    """Return the number of unread messages by ``topic/partition``, from Spark's offsets as JSON."""
    # At the start of a query there are no earlier offsets, and PySpark returns "None".
    read, available = (json.loads(text) if text and text.startswith("{") else {} for text in (end, latest))
    return {
        f"{topic}/{partition}": offset - read.get(topic, {}).get(partition, 0)
        for topic, partitions in available.items()
        for partition, offset in partitions.items()
    }


def _line(progress: Any, lag: dict[str, int]) -> dict[str, object]:
    return {
        "batch": progress.batchId,
        "messages": progress.numInputRows,
        "per_second": round(progress.processedRowsPerSecond),
        "lag": sum(lag.values()),
        "milliseconds": dict(progress.durationMs),
    }
