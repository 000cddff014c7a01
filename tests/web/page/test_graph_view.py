"""The graph view in a real browser, over a real graph."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Locator, Page, expect

from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings
from headwater_web import MemorySink, WebSettings, create_app

from ...queries.events import Event, run_event, write
from .browsing import Site, Visit, chromium, running
from .shop_events import CLEAN, CUSTOMERS, DATABASE, HOSTILE, LAKE, LAST_GOOD, NOW, WAREHOUSE, at, facet, shop_events

READERS = 260
"""Readers of the hub: more than are shown at first, and than are always in the document."""
COLUMNS = 400


def graph_events() -> list[Event]:
    """Return the events of a hub, a cycle and a wide table."""
    hub = [
        run_event("graph-hub", f"reader_{n:03d}", f"graph-hub-{n:03d}", "COMPLETE", at(3), ["hub.customers"])
        for n in range(READERS)
    ]
    cycle = run_event("cycle", "merge", "cycle-run", "COMPLETE", at(3), ["ledger", "staging.tmp_ledger"], ["ledger"])
    stage = run_event("cycle", "stage", "cycle-stage", "COMPLETE", at(4), ["raw"], ["staging.tmp_ledger"])
    names = [f"column_{n:03d}" for n in range(COLUMNS)]
    fields = [{"name": name, "type": "varchar"} for name in names]
    steps = [{"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}]
    condition = [{"type": "INDIRECT", "subtype": "FILTER"}]
    origin = {"namespace": "wide", "name": "source"}
    inputs = [
        origin | {"field": "secret", "transformations": steps},
        origin | {"field": "flag", "transformations": condition},
    ]
    lineage = {"column_399": {"inputFields": inputs}}
    wide: Event = {"name": "wide", "facets": {"schema": facet(fields=fields), "columnLineage": facet(fields=lineage)}}
    return [*hub, stage, cycle, run_event("wide", "copy", "wide-run", "COMPLETE", at(3), ["source"], [wide])]


@pytest.fixture(scope="module")
def shop(graph_server: GraphSettings, reader: Neo4jReader) -> Iterator[Site]:
    chromium()
    write(graph_server, [*shop_events(), *graph_events()])
    cypher = FreeCypher(reader, 30.0, 10_000, "HEADWATER_WEB_CYPHER_TIMEOUT", strangers=True)
    with running(create_app(reader, MemorySink(), WebSettings(), lambda: NOW, cypher=cypher)) as site:
        yield site


def lineage(namespace: str, name: str, **more: str) -> str:
    return f"/lineage?{urlencode({'kind': 'dataset', 'namespace': namespace, 'name': name, **more})}"


SHOWN = lineage(LAKE, CLEAN["name"])


def card(page: Page, name: str) -> Locator:
    """The card whose accessible name begins with this text."""
    return page.locator(f'.card[aria-label^="{name}"]')


def names(page: Page) -> list[str]:
    return sorted(page.locator(".card-name").all_inner_texts())


def parameters(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


FIRST = ["clean", "customers", "daily_revenue", "daily_revenue", "load_orders", "orders"]


def opened(page: Page, path: str = SHOWN) -> Page:
    page.goto(path)
    expect(page.locator(".card.is-start")).to_be_visible()
    return page


def test_the_graph_begins_with_one_level_each_way(page: Page) -> None:
    opened(page)
    assert names(page) == FIRST
    expect(card(page, "job checkout.daily_revenue")).to_contain_text("failed")
    expect(card(page, "job checkout.load_orders")).to_contain_text("30 min")
    expect(page.get_by_role("button", name="Show 1 more downstream of checkout.mart.daily_revenue")).to_have_text("+1")


def test_an_expansion_moves_nothing_and_survives_a_reload(page: Page) -> None:
    opened(page)
    style = "element => element.style.transform"
    before = page.locator(".card").evaluate_all("cards => cards.map(card => [card.dataset.id, card.style.transform])")
    page.get_by_role("button", name="Show 1 more downstream").click()
    expect(card(page, "job checkout.report")).to_be_visible()
    for identifier, place in before:
        assert page.locator(".card").and_(page.locator(f"[data-id={json.dumps(identifier)}]")).evaluate(style) == place
    shown = names(page)
    page.reload()
    expect(page.locator(".card.is-start")).to_be_visible()
    assert names(page) == shown
    page.get_by_role("button", name="Hide what is downstream of checkout.mart.daily_revenue").click()
    expect(card(page, "job checkout.report")).to_have_count(0)
    assert names(page) == FIRST
    assert "expanded" not in parameters(page)


def test_a_column_shows_its_whole_way(page: Page) -> None:
    opened(page)
    card(page, "start: dataset").get_by_role("button", name="columns").click()
    page.get_by_role("button", name="amount", exact=False).first.click()
    panel = page.get_by_role("region", name="The way of column amount")
    expect(panel).to_contain_text("orders.amount → clean.amount")
    expect(panel).to_contain_text("direct, aggregation")
    expect(card(page, "dataset checkout.public.customers")).to_have_class(re.compile(r"\bis-faded\b"))
    expect(
        card(page, "dataset checkout.mart.daily_revenue").get_by_role("button", name="revenue", exact=True)
    ).to_be_visible()
    assert parameters(page)["column"] == "amount"
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page.locator(".is-faded")).to_have_count(0)


def test_a_column_of_a_wide_table_by_its_address(page: Page) -> None:
    opened(page, lineage("wide", "wide", column="column_399"))
    panel = page.get_by_role("region", name="The way of column column_399")
    expect(panel).to_contain_text("masked")
    expect(panel).not_to_contain_text("flag")
    panel.get_by_role("checkbox").check()
    expect(panel).to_contain_text("source.flag → wide.column_399")
    expect(panel).to_contain_text("indirect, filter")
    assert parameters(page)["indirect"] == "1"
    start = card(page, "start: dataset")
    start.get_by_role("button", name="columns").click()
    expect(start.locator(".card-row")).to_have_count(11)
    expect(start).to_contain_text("390 more")
    start.get_by_role("searchbox").fill("n_07")
    expect(start).to_contain_text("column_078")
    expect(start.get_by_role("searchbox")).to_be_focused()


def test_a_run_shows_what_it_really_read_and_wrote(page: Page) -> None:
    opened(page, f"/lineage?kind=run&id={LAST_GOOD}")
    expect(card(page, "version of dataset checkout/orders/clean")).to_be_visible()
    assert names(page) == ["clean", "daily_revenue", "daily_revenue", "load_orders", "report"]
    page.get_by_role("button", name="more upstream of checkout.load_orders").click()
    expect(card(page, "version of dataset checkout.public.orders")).to_be_visible()
    page.get_by_role("button", name="Current", exact=True).click()
    expect(card(page, "start: job checkout.daily_revenue")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(card(page, "start: run checkout.daily_revenue")).to_be_visible()
    page.go_back()
    expect(card(page, "start: job checkout.daily_revenue")).to_be_visible()


def test_the_graph_as_of_an_earlier_time(page: Page) -> None:
    opened(page)
    page.get_by_label("As of, UTC").fill("2026-01-29T12:00")
    expect(card(page, "dataset checkout.public.customers")).to_have_count(0)
    expect(card(page, "dataset checkout.public.orders")).to_be_visible()
    assert parameters(page)["as_of"] == "2026-01-29T12:00:00Z"
    page.get_by_role("button", name="Now").click()
    expect(card(page, "dataset checkout.public.customers")).to_be_visible()


def test_the_way_of_a_column_as_of_an_earlier_time_says_that_it_is_that_of_now(page: Page) -> None:
    opened(page, lineage(LAKE, CLEAN["name"], column="amount", as_of="2026-01-29T12:00:00Z"))
    panel = page.get_by_role("region", name="The way of column amount")
    expect(panel).to_contain_text("steps of now, not of the chosen time")


def test_filters_hide_cards_and_say_how_many(page: Page) -> None:
    opened(page)
    page.locator("summary", has_text="Filter").click()
    page.get_by_label("State").select_option("FAIL")
    expect(page.locator("summary", has_text="3 cards hidden")).to_be_visible()
    assert names(page) == ["clean", "daily_revenue", "daily_revenue"]
    assert parameters(page)["state"] == "FAIL"
    page.get_by_label("State").select_option("")
    page.get_by_role("checkbox", name=DATABASE).uncheck()
    expect(card(page, "dataset checkout.public.orders")).to_have_count(0)


def test_jobs_of_one_parent_fold_into_one_card(page: Page) -> None:
    opened(page)
    page.get_by_role("button", name="checkout.nightly").first.click()
    expect(card(page, "2 jobs of checkout-jobs checkout.nightly")).to_be_visible()
    assert len(names(page)) == len(FIRST) - 1
    page.get_by_role("button", name="nightly (2 jobs)").click()
    expect(page.locator(".card")).to_have_count(len(FIRST))


def test_the_list_is_the_same_answer(page: Page) -> None:
    opened(page)
    page.get_by_role("button", name="List", exact=True).click()
    table = page.get_by_role("region", name="List of the graph").get_by_role("table")
    expect(table.locator("tbody tr")).to_have_count(len(FIRST))
    table.get_by_role("button", name="Name").click()
    expect(table.locator("tbody tr").first).to_contain_text("daily_revenue")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert len(rows) == len(FIRST)
    load = next(row for row in rows if row["name"] == "checkout.load_orders")
    assert (load["kind"], load["side"], load["steps"], load["state"]) == ("job", "upstream", "1", "COMPLETE")


def test_the_graph_is_saved_as_one_picture(page: Page) -> None:
    opened(page)
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as SVG").click()
    text = Path(download.value.path()).read_text()
    found = ET.fromstring(text)
    texts = [element.text or "" for element in found.iter("{http://www.w3.org/2000/svg}text")]
    assert {"clean", "load_orders", "orders"} <= set(texts)
    assert "href" not in text
    assert "undefined" not in text
    assert "url(http" not in text


def test_what_is_shown_is_copied_as_a_command_and_as_cypher(page: Page, shop: Site) -> None:
    opened(page)
    page.locator("summary", has_text="Export").click()
    page.get_by_role("button", name="Copy as command").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"headwater lineage upstream {LAKE} {CLEAN['name']} --depth 1\n")


@pytest.mark.parametrize(
    "path",
    [
        SHOWN,
        f"{SHOWN}&depth=3",
        f"{SHOWN}&column=amount",
        f"/lineage?kind=run&id={LAST_GOOD}",
        "/lineage?kind=job&namespace=checkout-jobs&name=checkout.load_orders",
    ],
)
def test_the_copied_cypher_finds_something(page: Page, shop: Site, path: str) -> None:
    opened(page, path)
    page.locator("summary", has_text="Export").click()
    page.get_by_role("button", name="Copy as Cypher").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    query = page.evaluate("navigator.clipboard.readText()")
    answer = page.request.post(f"{shop.address}/api/v1/graph/cypher", data={"query": query})
    assert answer.status == 200, answer.text()
    assert answer.json()["rows"]


def test_the_keyboard_walks_the_graph(page: Page) -> None:
    opened(page)
    start = card(page, "start: dataset")
    start.focus()
    page.keyboard.press("ArrowRight")
    expect(card(page, "job checkout.daily_revenue")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(card(page, "dataset checkout.mart.daily_revenue")).to_be_focused()
    page.keyboard.press("e")
    expect(card(page, "job checkout.report")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(start).to_be_focused()
    page.keyboard.press("c")
    expect(start).to_contain_text("order_id")
    page.keyboard.press("f")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("clean")
    assert page.url.split("?")[0].endswith("/dataset")


def test_a_hub_shows_some_readers_with_the_true_count_of_the_others(page: Page) -> None:
    opened(page, lineage("graph-hub", "hub.customers"))
    shown = page.locator(".card").count() - 1
    assert shown == 25
    stub = card(page, "start: dataset").locator(".stub-downstream")
    expect(stub).to_have_text(f"+{READERS - shown}")
    stub.click()
    expect(stub).not_to_have_text(f"+{READERS - shown}")
    stub.click()
    expect(page.get_by_role("button", name="Hide what is downstream of hub.customers")).to_be_visible()
    page.get_by_role("button", name="List", exact=True).click()
    expect(page.get_by_text(f"{READERS + 1} rows")).to_be_visible()
    # Only the cards in sight are in the document.
    assert page.locator(".card").count() < READERS / 2
    page.get_by_role("button", name="Show reader_259 in the graph").click()
    expect(card(page, "job reader_259")).to_be_focused()
    expect(card(page, "job reader_259")).to_be_in_viewport()


def test_a_job_that_reads_and_writes_one_dataset(page: Page) -> None:
    opened(page, lineage("cycle", "ledger"))
    assert names(page) == ["ledger", "merge", "tmp_ledger"]
    expect(page.locator(".link.is-backward")).to_have_count(1)
    page.locator("summary", has_text="Filter").click()
    page.get_by_label("hide temporary datasets (1)").check()
    expect(page.locator(".card")).to_have_count(2)


def test_hostile_names_are_text(page: Page) -> None:
    opened(page, lineage(DATABASE, "checkout.public.orders"))
    for name in HOSTILE:
        expect(page.get_by_title(f"job hostile 🛒 checkout orders 👩‍👩‍👧 {name}", exact=True)).to_have_count(1)
    assert page.locator(".canvas script, .canvas img").count() == 0


def test_a_double_click_shows_the_graph_around_another_card(page: Page) -> None:
    opened(page)
    card(page, "dataset checkout.public.customers").dblclick(position={"x": 100, "y": 50})
    expect(card(page, f"start: dataset {CUSTOMERS['name']}")).to_be_visible()
    page.go_back()
    expect(card(page, "start: dataset checkout/orders/clean")).to_be_visible()


def test_a_dataset_without_lineage_and_one_that_is_unknown(visit: Visit) -> None:
    opened(visit.page, "/lineage?kind=job&namespace=checkout-jobs&name=checkout.nightly")
    expect(visit.page.get_by_text("Nothing is known of what it reads or writes.")).to_be_visible()
    visit.expected = ("404",)
    visit.page.goto(lineage("nowhere", "nothing"))
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Not in the graph")


@pytest.mark.parametrize("size", ["desktop", "phone"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"], indirect=True)
def test_the_graph_is_accessible(visit: Visit, size: str, scheme: str) -> None:
    opened(visit.page, f"{SHOWN}&column=amount&list=1&columns={json.dumps([['dataset', LAKE, CLEAN['name']]])}")
    expect(visit.page.get_by_role("region", name="List of the graph")).to_be_visible()
    visit.accessible()
    visit.fits()


def test_the_warehouse_can_be_panned_and_zoomed(page: Page) -> None:
    opened(page, lineage(WAREHOUSE, "checkout.mart.daily_revenue"))
    page.mouse.move(640, 650)
    page.mouse.down()
    page.mouse.move(540, 600)
    page.mouse.up()
    page.get_by_role("button", name="Larger").click()
    page.wait_for_url("**at=*")
    before = sight(page)
    page.reload()
    expect(page.locator(".card.is-start")).to_be_visible()
    assert sight(page) == pytest.approx(before, abs=1.0)


def sight(page: Page) -> list[float]:
    """The scale and the translation of the graph."""
    transform = page.locator(".world").evaluate("element => element.style.transform")
    return [float(number) for number in re.findall(r"-?[\d.]+", transform)]
