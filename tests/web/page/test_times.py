"""The lineage at two times, side by side, in a real browser over a real graph."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from .browsing import Visit
from .shop_events import CLEAN, JOBS, LAKE

EARLY, LATE = "2026-01-29T12:00:00Z", "2026-01-31T12:00:00Z"


def times(kind: str, namespace: str, name: str, **more: str) -> str:
    return f"/diff?{urlencode({'lineage': kind, 'namespace': namespace, 'name': name, **more})}"


SHOWN = times("dataset", LAKE, CLEAN["name"], **{"from": EARLY})


def changes(page: Page) -> list[str]:
    return page.get_by_role("region", name="Changes").get_by_role("listitem").all_inner_texts()


def stage(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=f"As of {name}")


def card(part: Locator, name: str) -> Locator:
    return part.locator(f'.card[aria-label*="{name}"]')


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")], indirect=True)
def test_two_times_are_shown_side_by_side(visit: Visit) -> None:
    page = visit.page
    page.goto(SHOWN)
    before, after = stage(page, "2026-01-29 12:00:00"), stage(page, "now")
    expect(card(after, "start: dataset checkout/orders/clean")).to_be_visible()
    assert [re.sub(r"\s+", " ", line) for line in changes(page)] == [
        "+ added dataset checkout.public.customers postgres://db:5432",
        "+ added dataset checkout.mart.revenue_report warehouse",
        "+ added job checkout.report checkout-jobs",
    ]
    expect(card(before, "public.customers")).to_have_count(0)
    expect(card(after, "added: dataset checkout.public.customers")).to_have_class(re.compile(r"\bis-added\b"))
    expect(after.locator(".card.is-added")).to_have_count(3)
    expect(after.locator(".link.is-added")).to_have_count(3)
    expect(before.locator(".is-added, .is-removed")).to_have_count(0)
    place = "card => card.style.transform"
    for name in ("start: dataset", "job checkout.load_orders", "public.orders"):
        assert card(before, name).evaluate(place) == card(after, name).evaluate(place)
    visit.accessible()
    visit.fits()


def test_what_is_no_longer_read_is_removed(page: Page) -> None:
    page.goto(times("job", JOBS, "checkout.load_orders", **{"from": LATE, "to": EARLY, "depth": "1"}))
    expect(card(stage(page, "2026-01-31 12:00:00"), "removed: dataset checkout.public.customers")).to_be_visible()
    assert [re.sub(r"\s+", " ", line) for line in changes(page)] == [
        "\u2212 removed dataset checkout.public.customers postgres://db:5432"
    ]


def test_both_pictures_move_together(page: Page) -> None:
    page.goto(SHOWN)
    worlds = page.locator(".world")
    expect(worlds).to_have_count(2)
    seen = worlds.evaluate_all("worlds => worlds.map(world => world.style.transform)")
    stage(page, "now").locator(".canvas").hover(position={"x": 5, "y": 200})
    page.mouse.wheel(0, -200)
    expect(worlds.first).not_to_have_attribute("style", re.compile(re.escape(seen[0])))
    moved = worlds.evaluate_all("worlds => worlds.map(world => world.style.transform)")
    assert moved[0] == moved[1] != seen[0]


def test_the_times_are_in_the_address(page: Page) -> None:
    page.goto(SHOWN)
    page.get_by_label("To, UTC").fill("2026-01-29T13:00")
    expect(page.get_by_role("region", name="Changes")).to_contain_text("The same datasets, jobs and edges.")
    address = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    assert (address["from"], address["to"]) == (EARLY, "2026-01-29T13:00:00Z")
    page.reload()
    expect(page.get_by_role("region", name="Changes")).to_contain_text("The same datasets, jobs and edges.")
    page.go_back()
    expect(page.get_by_role("region", name="Changes")).to_contain_text("checkout.public.customers")


def test_the_graph_leads_to_the_comparison_of_its_time_with_now(page: Page) -> None:
    params = {"kind": "dataset", "namespace": LAKE, "name": CLEAN["name"], "as_of": EARLY, "depth": "2"}
    page.goto(f"/lineage?{urlencode(params)}")
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_role("region", name="Changes")).to_contain_text("checkout.public.customers")
    card(stage(page, "2026-01-29 12:00:00"), "start: dataset").dispatch_event("dblclick")
    expect(page.get_by_label("As of, UTC")).to_have_value(EARLY[:16])
    assert parse_qs(urlsplit(page.url).query)["as_of"] == [EARLY]


def test_a_time_that_is_none_is_said(visit: Visit) -> None:
    visit.expected = ("400",)
    visit.page.goto(times("dataset", LAKE, CLEAN["name"], **{"from": "yesterday"}))
    expect(visit.page.get_by_role("main")).to_contain_text("not a time")
    visit.page.goto(times("dataset", LAKE, CLEAN["name"]))
    expect(visit.page.get_by_role("main")).to_contain_text("It needs lineage, namespace, name and from.")
