"""What people come to the page for, done as they would do it: why a run failed, what changed, what feeds a dataset."""

from __future__ import annotations

import uuid
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from headwater_graph.settings import GraphSettings

from ...queries.events import Event, run_event, write
from .browsing import Visit
from .shop_events import CLEAN, ERROR, FAILED, JOBS, LAKE, LAST_GOOD, NIGHT, REVENUE, WAREHOUSE, at, facet

BOTH_SIZES = pytest.mark.parametrize("size", ["desktop", "phone"], indirect=True)


def open_result(page: Page, text: str, result: str) -> None:
    """Search for a text and open the result of this name."""
    page.get_by_role("combobox").fill(text)
    page.get_by_role("option").filter(has_text=result).first.click()


@BOTH_SIZES
def test_why_a_run_failed(visit: Visit) -> None:
    page = visit.page
    page.goto("/")
    open_result(page, "daily_rev", "checkout.daily_revenue")
    expect(page.get_by_role("heading", level=1)).to_have_text("checkout.daily_revenue")
    runs = page.get_by_role("region", name="Runs").get_by_role("row")
    runs.filter(has_text="failed").get_by_role("link").first.click()
    error = page.get_by_role("region", name="Error")
    expect(error).to_contain_text(ERROR)
    expect(error.get_by_role("region", name="Stack trace")).to_contain_text("AnalysisException")
    expect(page.get_by_role("region", name="SQL").locator(".sql-keyword").first).to_have_text("INSERT")
    visit.fits()


@BOTH_SIZES
def test_what_changed_since_it_last_worked(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/run?id={FAILED}")
    page.get_by_role("link", name="What changed since it last worked").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("What changed since it last worked")
    expect(page.get_by_role("region", name="Before")).to_contain_text(LAST_GOOD)
    changes = page.get_by_role("region", name="State, code, error")
    expect(changes.get_by_role("row").filter(has_text="error")).to_contain_text(ERROR)
    expect(changes.get_by_role("row").filter(has_text="code version")).to_contain_text("c0ffee1")
    settings = page.get_by_role("region", name="Settings").get_by_role("row").filter(has_text="spark.sql.ansi.enabled")
    expect(settings.locator(".change-removed")).to_contain_text("false")
    expect(settings.locator(".change-added")).to_contain_text("true")
    visit.fits()


@BOTH_SIZES
def test_what_a_dataset_is(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/dataset?{urlencode(CLEAN)}")
    expect(page.get_by_role("heading", level=1)).to_have_text("checkout/orders/clean")
    expect(page.get_by_role("main")).to_contain_text("team:checkout")
    expect(page.get_by_role("main")).to_contain_text("usually every 1 d")
    expect(page.get_by_role("region", name="Written by")).to_contain_text("checkout.load_orders")
    expect(page.get_by_role("region", name="Read by")).to_contain_text("checkout.daily_revenue")
    columns = page.get_by_role("region", name="Columns").get_by_role("row")
    expect(columns.filter(has_text="amount")).to_contain_text("decimal(12,2)")
    expect(columns.filter(has_text="segment")).to_contain_text("string")
    versions = page.get_by_role("region", name="Versions").get_by_role("row")
    expect(versions.filter(has_text="schema changed: + customer")).to_have_count(1)
    checks = page.get_by_role("region", name="Quality").get_by_role("row")
    expect(checks.filter(has_text="not_null")).to_contain_text("passed")
    expect(checks.filter(has_text="row_count_between")).to_contain_text("failed")
    visit.fits()


def test_a_column_leads_to_its_lineage(page: Page) -> None:
    page.goto(f"/dataset?{urlencode(REVENUE)}")
    link = page.get_by_role("region", name="Columns").get_by_role("link", name="revenue")
    named = {"kind": "dataset", "namespace": WAREHOUSE, "name": REVENUE["name"], "column": "revenue"}
    expect(link).to_have_attribute("href", f"/lineage?{urlencode(named)}")


def test_the_lineage_of_what_is_shown_is_one_click_away(page: Page) -> None:
    for path, kind in ((f"/dataset?{urlencode(CLEAN)}", "dataset"), (f"/run?id={FAILED}", "run")):
        page.goto(path)
        expect(page.get_by_role("main").locator(f"a[href^='/lineage?kind={kind}&']").first).to_be_visible()


@BOTH_SIZES
def test_why_a_job_has_versions(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/job?namespace={JOBS}&name=checkout.load_orders")
    versions = page.get_by_role("region", name="Versions").get_by_role("row")
    second = versions.filter(has_text="inputs changed")
    expect(second.locator(".change-added")).to_contain_text("checkout.public.customers")
    expect(versions.filter(has_text="first version")).to_have_count(1)
    visit.fits()
    second.get_by_role("link", name="to the one before").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Version 1 to version 2")
    expect(page.get_by_role("region", name="Changes")).to_contain_text("checkout.public.customers")
    expect(page.get_by_role("region", name="After: version 2")).to_contain_text("checkout.public.customers")
    expect(page.get_by_role("region", name="Before: version 1")).not_to_contain_text("checkout.public.customers")


@BOTH_SIZES
def test_a_run_with_children_is_a_tree_on_a_line_of_time(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/run?id={NIGHT}")
    rows = page.get_by_role("region", name="Children").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.nth(2)).to_contain_text("checkout.load_orders")
    expect(rows.nth(3)).to_contain_text("failed")
    load, revenue = (rows.nth(at).locator(".bar").bounding_box() for at in (2, 3))
    assert load is not None
    assert revenue is not None
    assert load["x"] < revenue["x"]
    rows.nth(3).get_by_role("link").click()
    expect(page.get_by_role("main")).to_contain_text(ERROR)
    page.get_by_role("main").get_by_role("link", name="checkout.nightly").click()
    expect(page).to_have_url(f"/run?id={NIGHT}")


def test_statistics_are_numbers(page: Page) -> None:
    page.goto("/run?id=checkout-load-4")
    expect(page.get_by_role("region", name="Wrote")).to_contain_text("1\u202f250\u202f004 rows · 84 MB · 12 files")


def test_facets_are_read_as_a_tree(page: Page) -> None:
    page.goto(f"/run?id={LAST_GOOD}")
    facets = page.get_by_role("region", name="Facets of the run")
    facets.get_by_text("spark_properties").click()
    expect(facets.locator(".tree").first).to_contain_text("spark.sql.ansi.enabled")
    expect(facets.get_by_role("link", name="https://example.org/producer/1.2.3")).to_have_attribute("target", "_blank")


def test_reports_are_operations(visit: Visit) -> None:
    page = visit.page
    visit.expected = ("503",)
    page.goto("/")
    page.get_by_role("link", name="Operations").click()
    expect(page.get_by_role("region", name="Consumer")).to_contain_text("Deferred work")
    page.get_by_role("link", name="Coverage by producer").click()
    expect(page.get_by_role("table")).to_contain_text("example.org")
    page.get_by_role("link", name="Dead letters").click()
    expect(page.get_by_role("main")).to_contain_text("HEADWATER_KAFKA_BOOTSTRAP_SERVERS")


def test_back_and_pasted_links_show_the_same(page: Page) -> None:
    page.goto("/?q=checkout.load")
    expect(page.get_by_role("option").first).to_contain_text("checkout.load_orders")
    page.get_by_role("option").first.click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("checkout.load_orders")
    page.get_by_role("region", name="Writes").get_by_role("link").click()
    expect(heading).to_have_text("checkout/orders/clean")
    pasted = page.url
    page.go_back()
    expect(heading).to_have_text("checkout.load_orders")
    page.go_back()
    expect(page.get_by_role("combobox")).to_have_value("checkout.load")
    expect(page.get_by_role("option").first).to_contain_text("checkout.load_orders")
    page.go_forward()
    expect(heading).to_have_text("checkout.load_orders")
    page.goto(pasted)
    expect(heading).to_have_text("checkout/orders/clean")
    expect(page).to_have_title("checkout/orders/clean | headwater")


def test_what_is_copied_is_a_command(page: Page) -> None:
    page.goto(f"/dataset?{urlencode(CLEAN)}")
    page.get_by_role("button", name="Copy as command").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"headwater dataset show {LAKE} checkout/orders/clean"


def test_a_running_run_is_followed_to_its_end(page: Page, graph_server: GraphSettings) -> None:
    name = f"live-{uuid.uuid4().hex[:8]}"
    write(graph_server, [run_event(name, "job", name, "START", at(0.5), ["source"])])
    page.goto(f"/run?id={name}")
    state = page.get_by_role("main").locator(".marks")
    expect(state).to_contain_text("running")
    write(graph_server, [run_event(name, "job", name, "COMPLETE", at(0.1), ["source"], ["target"])])
    expect(state).to_contain_text("complete")
    expect(page.get_by_role("region", name="Wrote")).to_contain_text("target")
    expect(page.locator("#announcer")).to_contain_text("The run is complete.")


def test_a_retired_job_says_so_and_why(page: Page, graph_server: GraphSettings) -> None:
    name = f"retired-{uuid.uuid4().hex[:8]}"
    retired: Event = {
        "eventTime": at(0.1),
        "job": {"namespace": name, "name": "old", "facets": {"headwater_retired": facet(reason="replaced by new")}},
    }
    write(graph_server, [run_event(name, "old", name, "COMPLETE", at(1), ["source"], ["target"]), retired])
    page.goto(f"/job?namespace={name}&name=old")
    expect(page.locator(".marks")).to_contain_text("retired")
    expect(page.get_by_role("main")).to_contain_text("replaced by new")
    expect(page.get_by_role("region", name="Runs").get_by_role("row").last).to_contain_text("complete")


def test_long_lists_are_shown_page_by_page(page: Page, graph_server: GraphSettings) -> None:
    name = f"many-{uuid.uuid4().hex[:8]}"
    ends = [run_event(name, "job", f"{name}-{n:02d}", "COMPLETE", at(100 - n), ["a"], ["b"]) for n in range(25)]
    write(graph_server, ends)
    page.goto(f"/job?namespace={name}&name=job")
    runs = page.get_by_role("region", name="Runs")
    expect(runs.locator("tbody tr")).to_have_count(20)
    runs.get_by_role("button", name="Show more").click()
    expect(runs.locator("tbody tr")).to_have_count(25)
    expect(runs.get_by_role("button", name="Show more")).to_have_count(0)
    assert len(set(runs.locator("tbody th a").evaluate_all("links => links.map(link => link.href)"))) == 25
