"""A TCP proxy in front of a Kafka broker that misbehaves on command.

Kafka tells its clients where its brokers are; the proxy puts its own port into those answers, so that no connection
passes it by.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Literal

Mode = Literal["pass", "refuse", "hang", "swallow", "truncate"]
"""``refuse`` connections; ``hang``: accept, read nothing, answer nothing; ``swallow`` what clients send; ``truncate`` each
connection after its first bytes."""


class FaultyProxy:
    """Listens on a port of its own until ``close``; ``mode`` may be set at any time, ``delay`` is in seconds a chunk."""

    def __init__(self, target: str, mode: Mode = "pass") -> None:
        host, _, port = target.split(",")[0].rpartition(":")
        self._target = (host, int(port))
        self._advertised = host.encode() + struct.pack(">i", int(port))
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._open = True
        self.delay = 0.0
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]
        self._mode: Mode = "pass"
        self.mode = mode
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def mode(self) -> Mode:
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        before, self._mode = self._mode, mode
        if mode == "refuse":
            self._listener.close()
            self._drop_connections()
        elif before == "refuse":
            self._listener = self._listen(self.port)
        if mode in ("swallow", "truncate"):
            self._drop_connections()

    def close(self) -> None:
        with self._lock:
            self._open = False
        self._listener.close()
        self._drop_connections()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        return listener

    def _drop_connections(self) -> None:
        with self._lock:
            connections, self._connections = self._connections, set()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _is_accepted(self, connection: socket.socket) -> bool:
        with self._lock:
            if self._open:
                self._connections.add(connection)
                return True
        connection.close()
        return False

    def _accept(self) -> None:
        while self._open:
            try:
                client, _ = self._listener.accept()
            except OSError:
                time.sleep(0.01)
                continue
            if self._is_accepted(client) and self._mode != "hang":
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            broker = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        if not self._is_accepted(broker):
            return
        threading.Thread(target=self._pump, args=(_chunks(client), broker, client), daemon=True).start()
        self._pump(self._rewritten(broker), client, broker)

    def _pump(self, chunks: Iterator[bytes], target: socket.socket, source: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for chunk in chunks:
                time.sleep(self.delay)
                while self._mode == "hang" and self._open:
                    time.sleep(0.01)
                if self._mode == "truncate":
                    break
                if self._mode != "swallow":
                    target.sendall(chunk)
        for end in (target, source):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _rewritten(self, broker: socket.socket) -> Iterator[bytes]:
        own = self._advertised[:-4] + struct.pack(">i", self.port)
        buffer = b""
        for chunk in _chunks(broker):
            buffer += chunk
            while len(buffer) >= 4 and len(buffer) >= (size := 4 + struct.unpack_from(">i", buffer)[0]):
                yield buffer[:size].replace(self._advertised, own)
                buffer = buffer[size:]


def _chunks(source: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            yield chunk
