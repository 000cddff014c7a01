"""A page in a real browser that fails the test for every error it reports, and the server behind it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi import FastAPI
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

from ..raw import serving
from .shop_events import NOW

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SIZES = {"desktop": (1280, 720), "phone": (390, 844)}
PATIENCE = 30_000
"""Milliseconds that an expectation may take on a busy machine."""


def chromium() -> str:
    """Return the path of Chromium; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return found


@dataclass
class Site:
    """The application behind a port of its own, which can be stopped and started again."""

    app: FastAPI
    port: int = 0
    _server: Any = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._server = serving(self.app, port=self.port)
        self.port = self._server.__enter__()

    def stop(self) -> None:
        if self._server is not None:
            self._server.__exit__(None, None, None)
            self._server = None


@contextmanager
def running(app: FastAPI) -> Iterator[Site]:
    """Serve an application as long as the block."""
    site = Site(app)
    site.start()
    try:
        yield site
    finally:
        site.stop()


class Visit:
    """A tab of the browser: what it reports as an error fails the test, unless the test expects it."""

    def __init__(self, browser: Browser, site: Site, size: str, scheme: str) -> None:
        width, height = SIZES[size]
        self.context = browser.new_context(
            base_url=site.address,
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.clock.set_fixed_time(NOW)
        self.faults: list[str] = []
        self.expected: tuple[str, ...] = ()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.text} ({message.location})")

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.faults.append(f"a request to {request.url}")

    def check(self) -> None:
        """Raise AssertionError for the first error that the test does not expect."""
        unexpected = [fault for fault in self.faults if not any(part in fault for part in self.expected)]
        assert unexpected == [], unexpected

    def accessible(self) -> None:
        """Raise AssertionError for every violation of the accessibility rules that axe finds."""
        found = Axe().run(self.page, options={"resultTypes": ["violations"]}).response["violations"]
        named = [
            (each["id"], [(node["html"][:300], node["failureSummary"]) for node in each["nodes"][:3]]) for each in found
        ]
        assert named == [], json.dumps(named, indent=1)

    def fits(self) -> None:
        """Raise AssertionError if the page can be scrolled sideways."""
        widths = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], widths

    def picture(self, folder: Path, name: str) -> Path:
        """Store a picture of what is in sight; return its path."""
        path = folder / f"{name}.png"
        self.page.screenshot(path=path)
        return path
