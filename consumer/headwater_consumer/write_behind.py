"""Write-behind: a batch is written to the graph while Spark reads the next one. ``foreachBatch`` calls this class.

Without it, reading and writing alternate, and one of two cores is idle. Spark counts a batch as done when it is handed over,
so its checkpoint may be ahead of the graph by two batches: one that is being read and one that is being written. A consumer
that starts reads the missing messages again (``headwater_consumer.recovery``), so a crash loses nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from headwater_consumer.batch_processor import Batch, BatchProcessor


class WriteBehind:
    """Hands batches from the thread that reads to the one that writes, one at a time and in their order.

    ``read`` is given a frame and the batch's number and reads the batch, part by part.
    """

    def __init__(self, processor: BatchProcessor, read: Callable[[Any, int], Iterable[Batch]]) -> None:
        self._processor = processor
        self._read = read
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

    def failure_of_reading(self, patience: float) -> BaseException | None:
        """Return what a batch failed by, when the one being read has ended or ``patience`` seconds have passed."""
        if self._reading.acquire(timeout=patience):
            self._reading.release()
        return self.failure

    def begin(self) -> None:
        """Clear the failure before a query is started again."""
        self._processor.failure = None

    def __call__(self, frame: Any, batch_id: int) -> None:
        """Read a batch, wait for the one before, and hand it over, part by part; raises what the one before failed by."""
        with self._reading:
            try:
                for part in self._read(frame, batch_id):
                    self.finish()
                    # Stopping may have been asked for while the part before was written: what is not handed over Spark
                    # reads again.
                    self._processor.check_gate()
                    self._under_way = self._thread.submit(self._processor.write, part)
            except BaseException as fault:
                self._processor.failed(fault)
                raise
            self.handed_over = batch_id

    def finish(self) -> None:
        """Wait until everything handed over is in the graph; raise the exception if that failed."""
        if self._under_way is not None:
            self._under_way.result()

    def wait(self) -> None:
        """Wait until nothing is being written; ``failure`` is then set if the batch failed."""
        if self._under_way is not None:
            wait([self._under_way])
