"""A browser for a module, and the application over a real graph with the events of a shop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings
from headwater_web import MemorySink, WebSettings, create_app

from ...queries.events import write
from .browsing import ARGUMENTS, PATIENCE, Site, Visit, chromium, running
from .shop_events import NOW, shop_events

expect.set_options(timeout=PATIENCE)


# While Playwright runs, its event loop counts as that of the thread: no other module may see it.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


# Other modules clear the graph, so the shop is written anew for each; the same events again change nothing.
@pytest.fixture(scope="module")
def shop(graph_server: GraphSettings, reader: Neo4jReader) -> Iterator[Site]:
    chromium()
    write(graph_server, shop_events())
    cypher = FreeCypher(reader, 30.0, 10_000, "HEADWATER_WEB_CYPHER_TIMEOUT", strangers=True)
    with running(create_app(reader, MemorySink(), WebSettings(), lambda: NOW, cypher=cypher)) as site:
        yield site


@pytest.fixture(params=["desktop"])
def size(request: pytest.FixtureRequest) -> str:
    """The size of the window; parametrize it with the names in ``SIZES``."""
    return str(request.param)


@pytest.fixture(params=["light"])
def scheme(request: pytest.FixtureRequest) -> str:
    """The colour scheme: light or dark."""
    return str(request.param)


@pytest.fixture
def visit(shop: Site, browser: Browser, size: str, scheme: str, pictures: Callable[[Page], None]) -> Iterator[Visit]:
    """A new tab on the shop; at its end a picture is stored, and every error that it reported fails the test."""
    visit = Visit(browser, shop, size, scheme)
    yield visit
    pictures(visit.page)
    visit.context.close()
    visit.check()


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit.page


@pytest.fixture
def pictures(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[Page], None]:
    """Return what stores a picture of a page in the folder of the test."""

    def store(page: Page) -> None:
        name = re.sub(r"\W+", "-", request.node.name)[:80]
        page.screenshot(path=tmp_path / f"{name}.png", full_page=True)

    return store
