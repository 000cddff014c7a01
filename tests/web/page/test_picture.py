"""The picture of the page in README.md; `HEADWATER_WRITE_PICTURES=1` with this test writes it anew."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import expect

from .browsing import Visit
from .shop_events import REVENUE

PICTURE = Path(__file__).parents[3] / "docs" / "images" / "page.png"
MOST_BYTES = 120_000


def test_the_picture_of_the_page(visit: Visit, tmp_path: Path) -> None:
    visit.page.set_viewport_size({"width": 1280, "height": 500})
    visit.page.goto(f"/lineage?{urlencode({'kind': 'dataset', **REVENUE, 'depth': '2'})}")
    expect(visit.page.get_by_role("main")).to_contain_text("daily_revenue")
    expect(visit.page.locator(".loading")).to_have_count(0)
    visit.page.wait_for_load_state("networkidle")
    visit.page.get_by_role("button", name="Fit").click()
    made = visit.picture(tmp_path, "page")
    assert made.stat().st_size < MOST_BYTES
    if os.environ.get("HEADWATER_WRITE_PICTURES") == "1":
        PICTURE.parent.mkdir(exist_ok=True)
        shutil.copy(made, PICTURE)
    assert PICTURE.read_bytes()[:4] == b"\x89PNG"
    assert PICTURE.stat().st_size < MOST_BYTES
