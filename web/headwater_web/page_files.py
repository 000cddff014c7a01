"""The files of the page, held in memory: one document at each address of the page, and the files that it loads."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .etags import is_current
from .problems import problem

ADDRESSES = ("/", "/dataset", "/job", "/run", "/lineage", "/diff", "/operations")
"""The addresses of the page; each is answered with its one document."""
DOCUMENT = "index.html"
FOLDER = "/page/"
"""The path below which the files are that the document loads."""
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""The media types of what is served; files with other endings (type declarations) are not."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """ASGI application that answers with one file, compressed where the client accepts gzip."""

    body: bytes
    media_type: str
    compressed: bytes = field(init=False)
    tag: str = field(init=False)

    def __post_init__(self) -> None:
        # Without the time of compression the bytes, and so the ETag, are the same on every replica.
        object.__setattr__(self, "compressed", gzip.compress(self.body, mtime=0))
        object.__setattr__(self, "tag", sha256(self.body).hexdigest()[:32])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return problem(405, "GET or HEAD", {"Allow": "GET, HEAD"})
        is_compressed = accepts_gzip(request.headers.get("accept-encoding", ""))
        headers = HEADERS | {"ETag": f'"{self.tag}-gzip"' if is_compressed else f'"{self.tag}"'}
        if is_current(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        if not is_compressed:
            return Response(self.body, headers=headers, media_type=self.media_type)
        return Response(self.compressed, headers=headers | {"Content-Encoding": "gzip"}, media_type=self.media_type)


def page_files(root: Traversable | None = None) -> dict[str, PageFile]:
    """Return the file of each path of the page, by default of the installed package.

    A request is answered only if its path is one of these keys, so no path leads out of the folder.
    """
    found = dict(_below(files(__package__) / "page" if root is None else root, PurePosixPath()))
    document = found[DOCUMENT]
    return {FOLDER + name: file for name, file in found.items()} | dict.fromkeys(ADDRESSES, document)


def _below(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[str, PageFile]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = path / entry.name
        if entry.is_dir():
            yield from _below(entry, name)
        elif name.suffix in MEDIA_TYPES:
            yield str(name), PageFile(entry.read_bytes(), MEDIA_TYPES[name.suffix])


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an ``Accept-Encoding`` header allows gzip.

    >>> accepts_gzip("br, gzip;q=0.8"), accepts_gzip("gzip; q=0"), accepts_gzip("identity")
    (True, False, False)
    """
    for choice in accept_encoding.lower().split(","):
        coding, _, weight = choice.partition(";")
        if coding.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
