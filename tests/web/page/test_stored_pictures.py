"""Answers as pictures in files: drawn by the code of the page, opened in a real browser, without a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater_avro.errors import ConfigError
from headwater_graph.queries.answers import Answer, Edge, Node, Truncation
from headwater_graph.queries.catalog.finding import find
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.presentation.formats import render
from headwater_graph.queries.presentation.page_modules import bundled
from headwater_graph.queries.reader import Neo4jReader

from .browsing import Site, Visit
from .shop_events import EMOJI, HOSTILE, LONG, MARKUP, NOW, REVENUE, RIGHT_TO_LEFT, SCRIPT

EXAMPLE = Path(__file__).parents[3] / "docs" / "images" / "lineage.svg"
END = "</script><script>alert(1)</script><!-- </style>"
SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text", "tspan"}
Open = Callable[..., Visit]


def dataset(name: str, depth: int, *status: str, **facts: object) -> Node:
    return Node(f"d {name}", "dataset", (END, name), depth, status, facts)


def job(name: str, depth: int, **facts: object) -> Node:
    return Node(f"j {name}", "job", ("etl", name), depth, (), facts)


NAMES = (*HOSTILE, END)
STRANGE = Answer(
    {"direction": "upstream", "depth": 10},
    ("d report",),
    (
        dataset("report", 0, writtenAt="2026-01-31T12:00:00.000000Z"),
        job("join", 1, lastRunState="FAIL", lastRunAt="2026-01-31T12:00:00.000000Z"),
        *(dataset(name, 1) for name in NAMES),
    ),
    (Edge("j join", "d report", "produces"), *(Edge(f"d {name}", "j join", "feeds") for name in NAMES)),
    (Truncation(f"d {SCRIPT}", "depth", 0, 7),),
    (f"a note with {MARKUP}",),
)


@pytest.fixture
def open_file(browser: Browser, tmp_path: Path, pictures: Callable[[Page], None]) -> Iterator[Open]:
    """Return what opens a text as a file in the browser, which then has no network."""
    opened: list[Visit] = []

    def open_one(text: str, name: str, size: str = "desktop", scheme: str = "light") -> Visit:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        visit = Visit(browser, Site(None), size, scheme)  # type: ignore[arg-type]
        visit.expected = (f"a request to {path.as_uri()}",)
        opened.append(visit)
        visit.context.set_offline(True)
        visit.page.goto(path.as_uri())
        return visit

    yield open_one
    for visit in opened:
        # Chromium takes no picture of a whole SVG document.
        if not visit.page.url.endswith(".svg"):
            pictures(visit.page)
        visit.context.close()
        visit.check()


def svg(answer: Answer) -> str:
    pytest.importorskip("quickjs", reason="needs quickjs: pip install 'headwater[picture]'")
    return render(answer, "svg")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_an_html_file_shows_the_graph_without_a_server(open_file: Open, size: str, scheme: str) -> None:
    visit = open_file(render(STRANGE, "html"), "graph.html", size, scheme)
    page = visit.page
    expect(page.get_by_role("heading", level=1)).to_contain_text("Lineage upstream of dataset")
    expect(page.locator(".card")).to_have_count(2 + len(NAMES))
    expect(page.locator('.card[aria-label^="job join in etl"]')).to_contain_text("failed")
    assert sorted(page.locator(".card-name").evaluate_all("names => names.map(name => name.title)")) == sorted(
        ["report", "join", *NAMES]
    )
    expect(page.locator(".stub")).to_have_text(["+7"])
    expect(page.get_by_role("status").first).to_contain_text(MARKUP)
    assert page.locator("img, iframe, a[href], script:not([type]) ~ script").count() == 0
    assert page.locator("script").count() == 2
    visit.accessible()


def test_a_stored_graph_is_moved_by_keys_and_read_as_a_list(open_file: Open) -> None:
    visit = open_file(render(STRANGE, "html"), "graph.html")
    page = visit.page
    page.locator(".card.is-start").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator('.card[aria-label^="job join"]')).to_be_focused()
    page.get_by_role("button", name="List").click()
    panel = page.get_by_role("region", name="List of the graph")
    expect(panel.locator("tbody tr")).to_have_count(2 + len(NAMES))
    expect(panel).to_contain_text(SCRIPT)
    before = page.locator(".world").evaluate("world => world.style.transform")
    page.get_by_role("button", name="Larger").click()
    assert page.locator(".world").evaluate("world => world.style.transform") != before


def test_a_stored_graph_can_neither_load_nor_send(open_file: Open) -> None:
    visit = open_file(render(STRANGE, "html"), "graph.html")
    visit.context.set_offline(False)
    visit.expected += ("Content Security Policy", "net::ERR", "a request to https://headwater.invalid")
    script = """async () => {
      const added = document.createElement("script");
      added.textContent = "window.ran = true";
      document.head.append(added);
      return [window.ran ?? false, await fetch("https://headwater.invalid/").catch((fault) => fault.message)];
    }"""
    assert visit.page.evaluate(script) == [False, "Failed to fetch"]
    assert any("Content Security Policy" in fault for fault in visit.faults)


def test_the_svg_is_the_one_that_the_page_saves(open_file: Open) -> None:
    drawn = svg(STRANGE)
    page = open_file(render(STRANGE, "html"), "graph.html").page
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as SVG").click()
    assert Path(saved.value.path()).read_text("utf-8").rstrip("\n") == drawn


def test_an_svg_has_hostile_names_as_text_alone(open_file: Open) -> None:
    drawn = svg(STRANGE)
    elements = list(ET.fromstring(drawn).iter())
    assert {element.tag.removeprefix(SVG) for element in elements} <= TAGS
    assert not [name for element in elements for name in element.attrib if name.lower().startswith(("on", "href", "{"))]
    texts = " ".join(element.text or "" for element in elements)
    for name in (SCRIPT, RIGHT_TO_LEFT, EMOJI):
        assert name[-8:] in texts
    assert LONG not in texts
    page = open_file(drawn, "graph.svg").page
    assert page.evaluate("[document.documentElement.tagName, document.querySelectorAll('script').length]") == ["svg", 0]


def columns_answer() -> Answer:
    nodes = [Node(name, "column", ("ns", name, "amount"), depth) for depth, name in enumerate(("mart", "clean", "raw"))]
    facts: dict[str, Any] = {"type": "DIRECT", "subtype": "IDENTITY"}
    edges = (
        Edge("clean", "mart", "derives", facts | {"job": ["etl", "build"]}),
        Edge("raw", "clean", "derives", facts | {"job": ["etl", "load"]}),
    )
    return Answer({"direction": "upstream"}, ("mart",), tuple(nodes), edges)


def test_the_lineage_of_a_column_is_drawn_from_row_to_row(open_file: Open) -> None:
    page = open_file(render(columns_answer(), "html"), "columns.html").page
    expect(page.locator(".card-data")).to_have_count(3)
    expect(page.locator(".card-work")).to_have_count(2)
    expect(page.locator(".card-row.is-on-way")).to_have_text(["amount"] * 3)
    expect(page.locator(".link-way")).to_have_count(4)
    row = page.locator(".card-row").first.bounding_box()
    ends = [box for link in page.locator(".link-way").all() if (box := link.bounding_box()) is not None]
    assert row is not None
    assert row["y"] <= max(box["y"] + box["height"] for box in ends) <= row["y"] + row["height"] + 8
    assert svg(columns_answer()).count("amount") == 4  # three rows, and the title


@pytest.mark.parametrize("form", ["html", "svg"])
def test_an_answer_without_nodes_is_an_empty_picture(open_file: Open, form: str) -> None:
    answer = Answer({"direction": "upstream"}, (), (), ())
    visit = open_file(svg(answer) if form == "svg" else render(answer, form), f"empty.{form}")
    assert visit.page.locator(".card").count() == 0


def test_what_is_missing_for_an_svg_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quickjs", None)
    with pytest.raises(ConfigError, match=r"headwater\[picture\]"):
        render(STRANGE, "svg")


def test_a_module_that_a_bundle_cannot_have_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cycle.js").write_text('import { a } from "./other.js";\nexport const b = a;\n')
    (tmp_path / "other.js").write_text('import { b } from "./cycle.js";\nexport const a = b;\n')
    with pytest.raises(ValueError, match=r"cycle\.js other\.js cycle\.js"):
        bundled("cycle.js", root=tmp_path)
    for line in ('import * as x from "./a.js";', "export default 1;", "const x = import.meta.url;"):
        (tmp_path / "unknown.js").write_text(f"{line}\n")
        with pytest.raises(ValueError, match=r"unknown\.js"):
            bundled("unknown.js", root=tmp_path)


def test_the_example_of_the_documentation_is_drawn_from_the_graph(shop: Site, reader: Neo4jReader) -> None:
    start = find(reader, (REVENUE["namespace"], REVENUE["name"]))
    drawn = svg(lineage(reader, start, "upstream", NOW, Scope(TraversalLimits(10)))) + "\n"
    if os.environ.get("HEADWATER_WRITE_PICTURES") == "1":
        EXAMPLE.write_text(drawn, "utf-8")
    assert EXAMPLE.read_text("utf-8") == drawn
