"""A real uvicorn around an application, and requests written to its socket byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse

import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from headwater_web import WebSettings
from headwater_web.listening import uvicorn_options

PATIENCE = 60.0
"""Seconds after which an answer that does not come fails the test."""


def client_of(app: FastAPI) -> TestClient:
    """A client of an application without sockets, under a name that a server without tokens answers to."""
    return TestClient(app, base_url="http://localhost")


@contextmanager
def serving(app: FastAPI, settings: WebSettings | None = None, port: int = 0) -> Iterator[int]:
    """Serve an application on a port of 127.0.0.1 (0: a free one) as ``headwater serve`` does; yield the port."""
    running = uvicorn.Server(uvicorn.Config(app, **uvicorn_options(settings or WebSettings())))
    with socket.create_server(("127.0.0.1", port)) as listening:
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join()


def sent(port: int, target: str, *headers: str, method: str = "GET", body: bytes = b"") -> tuple[int, bytes]:
    """Send a request line, these headers and a body as they are; return the status and the body of the answer."""
    length = [f"Content-Length: {len(body)}"] if body or method == "POST" else []
    head = "\r\n".join([f"{method} {target} HTTP/1.1", *headers, *length, "Connection: close", "", ""])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode("latin-1") + body)
        answer = HTTPResponse(connection, method=method)
        answer.begin()
        return answer.status, answer.read()
