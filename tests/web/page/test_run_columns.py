"""The columns of runs in a real browser: what one run made of a column, with the versions that it read and wrote."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from .shop_events import LAST_GOOD
from .test_graph_view import card, parameters


def version(page: Page, name: str) -> Locator:
    return card(page, f"version of dataset {name}")


def with_column(page: Page) -> Page:
    """The graph of a run, with the way of a column that it wrote."""
    page.goto(f"/lineage?kind=run&id={LAST_GOOD}")
    revenue = version(page, "checkout.mart.daily_revenue")
    revenue.get_by_role("button", name="columns").click()
    revenue.get_by_role("button", name="revenue", exact=False).last.click()
    expect(page.get_by_role("region", name="The way of column revenue")).to_be_visible()
    return page


def test_a_column_of_a_version_shows_its_way_through_runs(page: Page) -> None:
    panel = with_column(page).get_by_role("region", name="The way of column revenue")
    expect(panel).to_contain_text("clean.amount → daily_revenue.revenue")
    expect(panel).to_contain_text("direct, aggregation")
    expect(panel).to_contain_text("orders.amount → clean.amount")
    expect(panel.get_by_role("link", name="load_orders")).to_have_attribute("href", "/run?id=checkout-load-3")
    expect(version(page, "checkout/orders/clean").get_by_role("button", name="amount")).to_be_visible()
    expect(version(page, "checkout.public.orders").get_by_role("button", name="amount")).to_be_visible()
    expect(card(page, "run checkout.report")).to_have_class(re.compile(r"\bis-faded\b"))
    expect(card(page, "run checkout.load_orders")).not_to_have_class(re.compile(r"\bis-faded\b"))
    expect(panel.get_by_role("button", name="Operations")).to_have_count(0)


def test_the_column_of_a_run_is_in_the_address(page: Page) -> None:
    with_column(page)
    assert parameters(page)["column"] == "revenue"
    page.reload()
    panel = page.get_by_role("region", name="The way of column revenue")
    expect(panel).to_contain_text("clean.amount → daily_revenue.revenue")
    expect(version(page, "checkout.mart.daily_revenue")).to_be_visible()
    page.get_by_role("button", name="Leave the column").click()
    expect(panel).to_have_count(0)
    assert "column" not in parameters(page)


def test_the_columns_of_a_version_are_those_of_its_schema(page: Page) -> None:
    page.goto(f"/lineage?kind=run&id={LAST_GOOD}")
    revenue = version(page, "checkout.mart.daily_revenue")
    revenue.get_by_role("button", name="columns").click()
    expect(revenue.locator(".card-row")).to_have_text([re.compile("day"), re.compile("revenue")])
