"""What the page shows without an answer: an empty graph, errors, no token, another schema, a server that restarts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from pydantic import SecretStr

from headwater_avro.errors import SchemaMismatch, ServerUnavailable
from headwater_graph.queries.reader import GraphReader, Row
from headwater_web import MemorySink, WebSettings, create_app

from ...given_answers import GivenAnswers
from .browsing import Site, Visit, running
from .shop_events import FAILED, JOBS, NOW, SCRIPT

Open = Callable[[GraphReader, WebSettings], Visit]
NOTHING: dict[str, list[Row]] = {"catalog/counts": [{"datasets": 0, "jobs": 0, "runs": 0}]}


def clock() -> datetime:
    return NOW


class Failing:
    """A reader that raises its fault until it has none."""

    def __init__(self, fault: Exception | None) -> None:
        self.fault = fault

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        if self.fault is not None:
            raise self.fault
        return GivenAnswers(NOTHING).rows(question, **parameters)


@pytest.fixture
def open_site(browser: Browser, size: str, scheme: str, pictures: Callable[[Page], None]) -> Iterator[Open]:
    """Return what opens a tab on a server of its own over a reader without a graph."""
    opened: list[tuple[Visit, Any]] = []

    def open_one(reader: GraphReader, settings: WebSettings) -> Visit:
        server = running(create_app(reader, MemorySink(), settings, clock))
        visit = Visit(browser, server.__enter__(), size, scheme)
        opened.append((visit, server))
        return visit

    yield open_one
    for visit, server in opened:
        pictures(visit.page)
        visit.context.close()
        server.__exit__(None, None, None)
        visit.check()


@pytest.mark.parametrize("size", ["desktop", "phone"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"], indirect=True)
def test_an_empty_graph_says_how_to_send_the_first_event(open_site: Open) -> None:
    visit = open_site(GivenAnswers(NOTHING), WebSettings())
    visit.page.goto("/")
    expect(visit.page.get_by_role("region", name="The graph is empty")).to_contain_text("/api/v1/lineage")
    expect(visit.page.get_by_role("button", name="Copy")).to_have_count(3)
    visit.accessible()
    visit.fits()


def test_the_event_to_send_by_hand_is_accepted(open_site: Open) -> None:
    page = open_site(GivenAnswers(NOTHING), WebSettings()).page
    page.goto("/")
    command = page.get_by_role("region", name="By hand").text_content() or ""
    event = json.loads(command.partition(" -d '")[2].removesuffix("'"))
    answer = page.request.post("/api/v1/lineage", data=event)
    assert answer.status in (201, 204), answer.text()


def test_a_search_without_results_says_so(visit: Visit) -> None:
    visit.page.goto("/?q=no-such-thing-anywhere")
    expect(visit.page.get_by_role("main")).to_contain_text("Nothing has a name with “no-such-thing-anywhere” in it.")


def test_what_is_not_in_the_graph_is_said(visit: Visit) -> None:
    visit.expected = ("404",)
    visit.page.goto("/job?namespace=ns&name=nothing")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Not in the graph")
    expect(visit.page.get_by_role("main")).to_contain_text("the graph has no job")
    visit.page.goto("/run?id=%3Cscript%3E")
    expect(visit.page.get_by_role("main")).to_contain_text("the graph has no run '<script>'")


def test_a_run_without_an_earlier_success_has_no_difference(visit: Visit) -> None:
    visit.expected = ("404",)
    visit.page.goto("/diff?run=checkout-load-1")
    expect(visit.page.get_by_role("main")).to_contain_text("no run of this job was COMPLETE before")


def test_a_wrong_token_and_then_a_right_one(open_site: Open) -> None:
    visit = open_site(GivenAnswers(NOTHING), WebSettings(tokens=(SecretStr("open-sesame"),)))
    visit.expected = ("401",)
    page = visit.page
    page.goto("/")
    token = page.get_by_label("Token")
    expect(token).to_be_focused()
    visit.accessible()
    token.fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This token is not known to the server.")
    token.fill("open-sesame")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="The graph is empty")).to_be_visible()
    page.reload()
    expect(page.get_by_role("region", name="The graph is empty")).to_be_visible()
    assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]


def test_another_schema_is_said_in_the_words_of_the_server(open_site: Open) -> None:
    fault = SchemaMismatch("the graph has schema 1, this headwater needs 2: run `headwater graph migrate`")
    visit = open_site(Failing(fault), WebSettings())
    visit.expected = ("503",)
    visit.page.goto("/operations?report=silent")
    expect(visit.page.get_by_role("main")).to_contain_text("headwater graph migrate")
    visit.page.goto("/")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("The graph has another schema than this server")
    expect(visit.page.get_by_role("main")).to_contain_text("headwater graph migrate")


def test_a_graph_that_is_away_is_shown_when_it_is_back(open_site: Open) -> None:
    reader = Failing(ServerUnavailable("Neo4j", "bolt://secret:7687", "start it"))
    visit = open_site(reader, WebSettings())
    visit.expected = ("503",)
    visit.page.goto("/")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("The graph is not reachable")
    expect(visit.page.get_by_role("main")).not_to_contain_text("secret")
    visit.accessible()
    reader.fault = None
    expect(visit.page.get_by_role("region", name="The graph is empty")).to_be_visible()


def test_a_server_that_restarts_is_shown_again(visit: Visit, shop: Site) -> None:
    visit.expected = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_NETWORK")
    page = visit.page
    page.goto(f"/job?namespace={JOBS}&name=checkout.load_orders")
    expect(page.get_by_role("heading", level=1)).to_have_text("checkout.load_orders")
    shop.stop()
    try:
        page.get_by_role("region", name="Writes").get_by_role("link").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("The server does not answer")
        assert "/dataset?" in page.url
    finally:
        shop.start()
    expect(page.get_by_role("heading", level=1)).to_have_text("checkout/orders/clean")


def test_a_cut_network_is_recovered_at_once(visit: Visit) -> None:
    visit.expected = ("ERR_INTERNET_DISCONNECTED",)
    page = visit.page
    page.goto("/operations?report=unread")
    expect(page.get_by_role("heading", level=1)).to_have_text("Operations")
    visit.context.set_offline(True)
    page.get_by_role("link", name="headwater", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The server does not answer")
    visit.context.set_offline(False)
    expect(page.get_by_role("combobox")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Search the lineage")


def test_waiting_is_shown(visit: Visit) -> None:
    pending: list[Route] = []
    visit.page.route("**/api/v1/graph/overview**", lambda route: pending.append(route))
    visit.page.goto("/")
    expect(visit.page.get_by_role("status").filter(has_text="Loading")).to_be_visible()
    pending[0].continue_()
    expect(visit.page.get_by_role("combobox")).to_be_visible()
    expect(visit.page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)


def test_an_answer_that_was_cut_off_says_so(visit: Visit) -> None:
    def shortened(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=json.dumps(answer.json() | {"cut": True}))

    visit.page.route("**/datasets/show**", shortened)
    visit.page.goto("/dataset?namespace=warehouse&name=checkout.mart.daily_revenue")
    expect(visit.page.get_by_role("main")).to_contain_text("There are more jobs than are listed here")


def test_an_answer_to_an_older_search_is_not_shown(visit: Visit) -> None:
    held: list[Route] = []
    page = visit.page
    page.route("**/search?text=checkout.load**", lambda route: held.append(route))
    page.goto("/")
    with page.expect_request("**/search?text=checkout.load**"):
        page.get_by_role("combobox").fill("checkout.load")
    page.get_by_role("combobox").fill("checkout.nightly")
    expect(page.get_by_role("option").first).to_contain_text("checkout.nightly")
    page.evaluate(
        """() => { window.seen = []; new MutationObserver(() => seen.push(document.body.textContent))
        .observe(document.body, {childList: true, subtree: true}); }"""
    )
    held[0].fulfill(json={"nodes": [["job", JOBS, "checkout.older"]]})
    page.get_by_role("combobox").fill("checkout.report")
    expect(page.get_by_role("option").first).to_contain_text("checkout.report")
    assert page.evaluate("seen.length > 0 && !seen.some(text => text.includes('checkout.older'))")


def test_a_fault_of_the_page_is_shown_and_reported(visit: Visit) -> None:
    visit.expected = ("Cannot read properties",)
    visit.page.route("**/runs/**", lambda route: route.fulfill(json={"id": FAILED}))
    visit.page.goto(f"/run?id={FAILED}")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("This page has an error")


def test_an_unknown_address_says_so(visit: Visit) -> None:
    visit.expected = ("404",)
    answer = visit.page.goto(f"/{SCRIPT}")
    assert answer is not None
    assert answer.status == 404
