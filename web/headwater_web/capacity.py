"""Limits of the gateway's concurrent requests, bytes and threads; it refuses requests beyond them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from .problems import RETRY_SECONDS, Problem

Result = TypeVar("Result")

THREADS = 40
"""How many requests are decoded or wait for Kafka at the same time; the others are queued."""


class Capacity:
    """Counts concurrent requests and the bytes of their bodies, and runs their work in a separate thread pool.

    Only the event loop changes the counts, so there is no lock.
    """

    def __init__(self, requests: int, size: int) -> None:
        self._requests, self._size = requests, size
        self._held_requests = self._held_bytes = 0
        self._threads = ThreadPoolExecutor(THREADS, "ingest")

    @contextmanager
    def request(self) -> Iterator[Reservation]:
        """Count a request for the duration of the block; raises Problem beyond the limit."""
        if self._held_requests >= self._requests:
            raise _full(f"{self._requests} requests")
        self._held_requests += 1
        reservation = Reservation(self)
        try:
            yield reservation
        finally:
            self._held_requests -= 1
            self._held_bytes -= reservation.held

    def grow(self, reservation: Reservation, size: int) -> None:
        """Count ``size`` more bytes for a request; raises Problem if other requests leave no room for them."""
        others = self._held_bytes - reservation.held
        if others and self._held_bytes + size > self._size:
            raise _full(f"{self._size} bytes")
        self._held_bytes += size
        reservation.held += size

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run a call in a thread of this pool and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class Reservation:
    """The share of one request in the counted bytes."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self.held = 0

    async def body(self, request: Request) -> bytes:
        """Return the body of a request, whose bytes count as soon as they arrive; raises Problem."""
        chunks: list[bytes] = []
        try:
            async for chunk in request.stream():
                self._capacity.grow(self, len(chunk))
                chunks.append(chunk)
        except ClientDisconnect:
            raise Problem(400, "the connection ended before the body was complete") from None
        return b"".join(chunks)


def _full(limit: str) -> Problem:
    detail = f"this server accepts at most {limit} of events at the same time: send them again later"
    return Problem(503, detail, {"Retry-After": str(RETRY_SECONDS)})
