"""Every view has no violation that axe finds, in light and dark, wide and narrow."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from .browsing import Visit
from .shop_events import CLEAN, FAILED, HOSTILE_RUN, JOBS, NIGHT

VIEWS = {
    "home": "/?q=checkout.",
    "dataset": f"/dataset?{urlencode(CLEAN)}",
    "job": f"/job?namespace={JOBS}&name=checkout.load_orders",
    "failed run": f"/run?id={FAILED}",
    "run with children": f"/run?id={NIGHT}",
    "hostile run": f"/run?id={HOSTILE_RUN}",
    "difference of runs": f"/diff?run={FAILED}",
    "difference of versions": f"/diff?namespace={JOBS}&name=checkout.load_orders",
    "report": "/operations?report=coverage",
    "nothing": "/run?id=none",
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("scheme", "size"), [("light", "desktop"), ("dark", "phone")], indirect=True)
def test_a_view_is_accessible(visit: Visit, view: str) -> None:
    visit.expected = ("404",)
    visit.page.goto(VIEWS[view])
    expect(visit.page.locator("main h1")).to_be_attached()
    expect(visit.page.locator(".loading")).to_have_count(0)
    visit.accessible()
    visit.fits()


@pytest.mark.parametrize("scheme", ["light", "dark"], indirect=True)
def test_help_is_accessible(visit: Visit) -> None:
    visit.page.goto("/operations")
    expect(visit.page.get_by_role("heading", level=1)).to_be_visible()
    visit.page.keyboard.press("?")
    expect(visit.page.get_by_role("dialog")).to_be_visible()
    visit.accessible()
