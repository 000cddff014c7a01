"""How much the gateway takes at one time: requests, bytes, threads; what is beyond is refused at once."""

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
"""How many requests are decoded or wait for Kafka at one time; the others wait in line."""


class Capacity:
    """Room for requests and for the bytes of their bodies, and threads of their own for what they need done.

    Counted on the event loop alone, so without a lock.
    """

    def __init__(self, requests: int, size: int) -> None:
        self._requests, self._size = requests, size
        self._held_requests = self._held_bytes = 0
        self._threads = ThreadPoolExecutor(THREADS, "ingest")

    @contextmanager
    def request(self) -> Iterator[Room]:
        """Hold room for a request; raises Problem where there is none."""
        if self._held_requests >= self._requests:
            raise _full(f"{self._requests} requests")
        self._held_requests += 1
        room = Room(self)
        try:
            yield room
        finally:
            self._held_requests -= 1
            self._held_bytes -= room.held

    def grow(self, room: Room, size: int) -> None:
        """Hold so many bytes more for a request; raises Problem where others leave no room for them."""
        others = self._held_bytes - room.held
        if others and self._held_bytes + size > self._size:
            raise _full(f"{self._size} bytes")
        self._held_bytes += size
        room.held += size

    async def run(self, call: Callable[[], Result]) -> Result:
        """Return what a call returns, made in a thread of this capacity."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class Room:
    """What one request holds of a capacity."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self.held = 0

    async def body(self, request: Request) -> bytes:
        """Return the body of a request; its bytes are held from the moment they come. Raises Problem."""
        chunks: list[bytes] = []
        try:
            async for chunk in request.stream():
                self._capacity.grow(self, len(chunk))
                chunks.append(chunk)
        except ClientDisconnect:
            raise Problem(400, "the connection ended before the body did") from None
        return b"".join(chunks)


def _full(what: str) -> Problem:
    detail = f"this server takes at most {what} of events at one time"
    return Problem(503, detail, {"Retry-After": str(RETRY_SECONDS)})
