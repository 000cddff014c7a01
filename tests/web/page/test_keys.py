"""The page with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from .shop_events import FAILED


def test_a_search_from_the_first_key_to_the_result(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("checkout.")
    options = page.get_by_role("option")
    expect(options.nth(2)).to_be_visible()
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    page.get_by_role("combobox").fill("checkout.daily_revenue")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("checkout.daily_revenue")


def test_enter_opens_the_result_of_what_was_typed_last(page: Page) -> None:
    page.goto("/")
    page.get_by_role("combobox").fill("checkout.load_orders")
    expect(page.get_by_role("option").first).to_contain_text("checkout.load_orders")
    page.get_by_role("combobox").fill("checkout.nightly")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("checkout.nightly")


def test_the_reader_begins_at_the_heading_of_each_view(page: Page) -> None:
    page.goto("/?q=checkout.load_orders")
    expect(page.get_by_role("option").first).to_be_visible()
    page.get_by_role("combobox").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.locator("#announcer")).to_contain_text("checkout.load_orders")


def test_keys_lead_everywhere(page: Page) -> None:
    page.goto(f"/run?id={FAILED}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("d")
    expect(page).to_have_url(f"/diff?run={FAILED}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("since it last worked")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("dl?")
    expect(page).to_have_url(f"/diff?run={FAILED}")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", level=1)).to_have_text("Operations")
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page).to_have_url("/")


def test_help_lists_the_keys_and_closes(page: Page) -> None:
    page.goto("/operations")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("expand downstream")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_first_key_skips_to_the_content(page: Page) -> None:
    page.goto("/operations")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
