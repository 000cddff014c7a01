"""Names and facets that try to become markup, links or a broken layout stay text."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from .browsing import Visit
from .shop_events import EMOJI, HOSTILE, HOSTILE_RUN, LONG, MARKUP, RIGHT_TO_LEFT, SCRIPT

NAMESPACE = f"hostile {EMOJI}"
BOTH_SIZES = pytest.mark.parametrize("size", ["desktop", "phone"], indirect=True)


def without_markup(visit: Visit) -> None:
    """Raise AssertionError if a name became an element, or an address a link."""
    page = visit.page
    assert page.locator("main script, main img").count() == 0
    links = page.eval_on_selector_all("a[href]", "links => links.map(link => link.protocol)")
    assert set(links) <= {"http:", "https:"}
    visit.fits()


@BOTH_SIZES
@pytest.mark.parametrize("kind", ["job", "dataset"])
@pytest.mark.parametrize("name", HOSTILE, ids=["script", "markup", "right-to-left", "emoji", "long"])
def test_a_hostile_name_is_text(visit: Visit, name: str, kind: str) -> None:
    page = visit.page
    page.goto(f"/{kind}?{urlencode({'namespace': NAMESPACE, 'name': name})}")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text(name[-8:])
    without_markup(visit)


@BOTH_SIZES
def test_a_run_with_hostile_facets_is_text(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/run?{urlencode({'id': HOSTILE_RUN})}")
    expect(page.get_by_role("region", name="Error")).to_contain_text(MARKUP)
    expect(page.get_by_role("region", name="SQL")).to_contain_text(SCRIPT)
    for facet in page.locator("details.facet > summary").all():
        facet.click()
    expect(page.get_by_role("main")).to_contain_text("javascript:alert(1)")
    without_markup(visit)


@BOTH_SIZES
def test_hostile_names_are_found_and_opened(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/?{urlencode({'q': SCRIPT})}")
    option = page.get_by_role("option").filter(has_text="job").filter(has_text=SCRIPT).first
    expect(option).to_be_visible()
    without_markup(visit)
    option.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("alert(1)")


def test_a_long_name_is_shortened_and_copied_whole(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/dataset?{urlencode({'namespace': NAMESPACE, 'name': LONG})}")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("…")
    page.get_by_role("button", name="Copy as command").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert LONG in page.evaluate("navigator.clipboard.readText()")


def test_the_direction_of_a_name_does_not_change_that_of_the_page(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/job?{urlencode({'namespace': NAMESPACE, 'name': RIGHT_TO_LEFT})}")
    name = page.get_by_role("heading", level=1).locator("bdi")
    expect(name).to_be_visible()
    kind, heading = page.locator(".kind").bounding_box(), page.get_by_role("heading", level=1).bounding_box()
    assert kind is not None
    assert heading is not None
    assert kind["x"] == heading["x"]
