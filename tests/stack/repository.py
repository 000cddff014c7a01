"""A Maven repository on the loopback address, which serves what a test gives it and breaks as the test says."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from headwater_stack.lock import Jar


def make_jar(artifact: str, content: bytes) -> Jar:
    return Jar("org.example", artifact, "1.0", "", len(content), hashlib.sha256(content).hexdigest())


@dataclass
class Repository:
    """``files`` are served by path; ``cut`` ends an answer after so many bytes, that many times; ``asked`` is the log."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cut: dict[str, list[int]] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""

    def publish(self, artifact: str, content: bytes) -> Jar:
        jar = make_jar(artifact, content)
        self.files[f"/{jar.repository_path}"] = content
        return jar


@contextmanager
def serving() -> Iterator[Repository]:
    repository = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            repository.requests.append((self.path, wanted))
            content = repository.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and repository.ranges else 0
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            cuts = repository.cut.get(self.path, [])
            self.wfile.write(content[begin : begin + cuts.pop(0) if cuts else None])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    repository.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield repository
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
