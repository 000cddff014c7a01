"""A schema registry in this process, over HTTP: the part of Confluent's API that the client uses."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import headwater_avro
from headwater_avro.errors import EventRejected, ServerUnavailable
from headwater_avro.registry import RegisteredSchema

ENVELOPE = (Path(headwater_avro.__file__).parent / "schemas" / "event.avsc").read_text(encoding="utf-8")
AVRO, JSON = RegisteredSchema("AVRO", ENVELOPE), RegisteredSchema("JSON", '{"type": "object"}')


def framed(number: int, body: bytes) -> bytes:
    """Return a message with Confluent framing."""
    return b"\x00" + number.to_bytes(4, "big") + body


@dataclass
class MemorySchemas:
    """Schemas in a dictionary; ``requested`` are the ids requested so far, and ``away`` makes it unavailable."""

    schemas: Mapping[int, RegisteredSchema] = field(default_factory=dict)
    away: bool = False
    requested: list[int] = field(default_factory=list)

    def schema(self, number: int) -> RegisteredSchema:
        self.requested.append(number)
        if self.away:
            raise ServerUnavailable("the schema registry", "memory", "it is unavailable")
        if number not in self.schemas:
            raise EventRejected("unknown_schema", f"the registry knows no schema id {number}")
        return self.schemas[number]


class Registry:
    """Schemas by id; a ``status`` other than 200 answers every request, and ``seen`` are the requested paths.

    The first ``away_for`` requests get 503.
    """

    def __init__(self, schemas: dict[int, RegisteredSchema], away_for: int = 0) -> None:
        self.schemas = schemas
        self.away_for = away_for
        self.status = 200
        self.body = b"<html>a proxy's page</html>"
        self.seen: list[str] = []
        self.accounts: list[str | None] = []

    def answer(self, path: str) -> tuple[int, bytes]:
        self.seen.append(path)
        if self.status != 200 or len(self.seen) <= self.away_for:
            return 503 if self.status == 200 else self.status, self.body
        if path == "/subjects":
            return 200, json.dumps([f"s{number}" for number in self.schemas]).encode()
        found = self.schemas.get(int(path.rpartition("/")[2]))
        if found is None:
            return 404, b'{"error_code": 40403, "message": "Schema not found"}'
        # Confluent omits the type of Avro schemas.
        kind = {} if found.kind == "AVRO" else {"schemaType": found.kind}
        return 200, json.dumps({"schema": found.text, **kind}).encode()


@contextmanager
def served(registry: Registry, port: int = 0, identity: Path | None = None) -> Iterator[str]:
    """Serve a registry on this machine, with TLS if ``identity`` has its certificate and key; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.accounts.append(self.headers.get("Authorization"))
            status, body = registry.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        if identity is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"{'http' if identity is None else 'https'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
