"""Write-behind: a batch is written to the graph while Spark reads the next one. ``foreachBatch`` calls this class.

Without it, reading and writing alternate, and one of two cores is idle. Spark counts a batch as done when it is handed over,
so its checkpoint may be ahead of the graph by two batches: one that is being read and one that is being written. A consumer
that starts reads the missing messages again (``headwater_consumer.recovery``), so a crash loses nothing.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from headwater_consumer.batch_processor import BatchProcessor


class WriteBehind:
    """Passes batches from the reading thread to the writing thread, one at a time and in order."""

    def __init__(self, processor: BatchProcessor) -> None:
        self._processor = processor
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headwater-writer")
        self._reading = threading.Lock()
        self._under_way: Future[None] | None = None
        self.handed_over: int | None = None

    @property
    def failure(self) -> BaseException | None:
        """The exception by which a batch failed."""
        return self._processor.failure

    @property
    def is_busy(self) -> bool:
        """Whether a batch is being read or written."""
        writing = self._under_way
        return self._reading.locked() or (writing is not None and not writing.done())

    def begin(self) -> None:
        """Clear the failure before a query is started again."""
        self._processor.failure = None

    def __call__(self, frame: Any, batch_id: int) -> None:
        """Read a batch, wait for the previous one, and hand the batch over; raise the exception of the previous one."""
        with self._reading:
            batch = self._processor.read(frame, batch_id)
            self.finish()
            # A stop may have been requested meanwhile; Spark reads a batch again that was not handed over.
            self._processor.check_gate()
            self._under_way = self._thread.submit(self._processor.write, batch)
            self.handed_over = batch_id

    def finish(self) -> None:
        """Wait until everything handed over is in the graph; raise the exception if that failed."""
        if self._under_way is not None:
            self._under_way.result()

    def wait(self) -> None:
        """Wait until nothing is being written; ``failure`` is then set if the batch failed."""
        if self._under_way is not None:
            wait([self._under_way])
