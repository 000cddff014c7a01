"""The page over a large graph in a real browser: ``make bench-page``, or ``python bench/page.py --home FOLDER``.

Fills a Neo4j of its own with 100,000 jobs and 1,000,000 runs (``bench/large_graph.py``; half an hour on two shared cores, so
``--home`` keeps it for the next time), starts `headwater serve`, and opens the page in headless Chromium. It measures

- each view, opened in a new browser context: first contentful paint, the time until its content is there, the answers that
  it asks for, the bytes that came over the wire,
- the search box: from the last key to the options, with the delay of the box (150 ms) in it,
- layouts in the browser, and the frames per second while graphs are panned, at a size to read and as a whole.

References in the same run: the paint of a static page with one line from another server, the frames per second of a loop
that draws nothing, the answer to a request that reads nothing, and the pace of the machine. Times are milliseconds. The
result is appended to bench/results/page.jsonl.
"""

from __future__ import annotations

import argparse
import gzip
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

from large_graph import GRIDS, HUB, WIDE, build, grid_start, stored_runs
from machine import pace
from page_scripts import ANSWERS, LAID_OUT, PAINTED, PANNED, TYPED, WIRE
from playwright.sync_api import Browser, Page, sync_playwright
from record import show
from workload import output_of

import headwater_stack

ROUNDS = 7
PATIENCE = 120_000
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
STATIC = b"<!doctype html><html lang=en><meta charset=utf-8><title>static</title><p>One line."
PANNING_SECONDS = 4
LAYOUTS = (150, 500, 2_000)
THREADS = {"CrRendererMain": "main CPU", "VizCompositorThread": "drawing CPU", "Compositor": "compositor CPU"}
"""Threads of Chromium, and what the result calls their CPU milliseconds per frame."""
PARTS = ("views", "search", "layout", "panning")


@dataclass(frozen=True, slots=True)
class View:
    """A view that is measured: its address, and what is in the document when its content is there."""

    path: str
    ready: str


def lineage(name: str, kind: str = "dataset", **more: str) -> str:
    namespace = "s3://warehouse" if kind == "dataset" else "workload"
    return f"/lineage?{urlencode({'kind': kind, 'namespace': namespace, 'name': name, **more})}"


def all_of(name: str) -> str:
    """Return the address of everything downstream of a dataset, as deep as the page goes."""
    expanded = json.dumps([["d", 1, "dataset", "s3://warehouse", name]])
    return lineage(name, depth="20", expanded=expanded)


def views(jobs: int) -> dict[str, View]:
    middle = output_of(jobs // 2)
    dataset = urlencode({"namespace": "s3://warehouse", "name": middle})
    job = urlencode({"namespace": "workload", "name": f"layer10.job{jobs // 2}"})
    card = ".card.is-start"
    hub = json.dumps([["d", 3, "dataset", "s3://warehouse", HUB]])
    opened = json.dumps([["dataset", "s3://warehouse", WIDE]])
    return {
        "home": View("/", "main section"),
        "dataset": View(f"/dataset?{dataset}", "main h1"),
        "job": View(f"/job?{job}", "main h1"),
        "operations": View("/operations", "main h1"),
        "lineage": View(lineage(middle), card),
        "lineage, 3 levels": View(lineage(middle, depth="3"), card),
        "lineage as of a time": View(lineage(middle, as_of="2026-01-05T00:00:00Z"), card),
        "hub of 5,000 readers": View(lineage(HUB), card),
        "hub, all readers": View(lineage(HUB, expanded=hub), card),
        "table of 2,000 columns": View(lineage(WIDE, columns=opened), ".card-row"),
        "one column of 2,000": View(lineage(WIDE, column="field_1234"), ".graph-column"),
        "dataset of 2,000 columns": View(
            f"/dataset?{urlencode({'namespace': 's3://warehouse', 'name': WIDE})}", "main h1"
        ),
    }


def searches(jobs: int) -> dict[str, str]:
    return {
        "prefix": "warehouse.table_of_job99",
        "middle of the name": f"of_job{jobs // 3}",
        "tail": f"job{jobs - 1}",
        "in every name": "table",
        "one typing error": f"layer10.jbo{jobs // 2 + 7}",
        "column": "amount_12",
        "column of every table": "customer_id",
        "hub": "customers",
        "nothing": "zzzzzzzz",
    }


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """Run `headwater serve` over the graph of ``home`` during the block; yield its address."""
    command = [sys.executable, "-c", "from headwater_cli.main import main; main()", "serve", "--port", "0"]
    environ = os.environ | {"HEADWATER_HOME": str(home)}
    with (
        (home / "serve.log").open("w") as log,
        subprocess.Popen(command, env=environ, stderr=log, stdout=log) as server,
    ):
        try:
            yield listening((home / "serve.log"), server)
        finally:
            server.terminate()


def listening(log: Path, server: subprocess.Popen[bytes]) -> str:
    waiting = threading.Event()
    while server.poll() is None:
        if found := re.search(r"listening on (\S+);", log.read_text()):
            return found[1]
        waiting.wait(0.1)
    raise SystemExit(f"the server ended: {log.read_text()[-500:]}")


class StaticHandler(http.server.BaseHTTPRequestHandler):
    """Answers with one line of HTML."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(STATIC)))
        self.end_headers()
        self.wfile.write(STATIC)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextmanager
def static_page() -> Iterator[str]:
    """Serve one line of HTML during the block."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), StaticHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


@contextmanager
def processor_time(browser: Browser, page: Page) -> Iterator[dict[str, float]]:
    """Fill the yielded dictionary, at the end, with the CPU milliseconds of the threads that draw the page."""
    used: dict[str, float] = {}
    browser.start_tracing(page=page, categories=["devtools.timeline", "disabled-by-default-devtools.timeline"])
    yield used
    events = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {(each["pid"], each["tid"]): each["args"]["name"] for each in events if each["name"] == "thread_name"}
    for each in events:
        if each["name"].endswith("RunTask") and (name := THREADS.get(threads.get((each["pid"], each["tid"]), ""))):
            used[name] = used.get(name, 0) + each.get("tdur", 0) / 1000


class Measuring:
    """A browser and the server that it visits."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.address = browser, address

    @contextmanager
    def tab(self) -> Iterator[Page]:
        """Yield a tab without anything cached."""
        context = self.browser.new_context(base_url=self.address, viewport={"width": 1280, "height": 720})
        try:
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            yield page
        finally:
            context.close()

    def opened(self, page: Page, view: View) -> float:
        """Open a view; return the milliseconds until its content was there."""
        page.goto(view.path, wait_until="commit")
        page.wait_for_selector(view.ready, state="attached")
        return float(page.evaluate("performance.now()"))

    def view(self, view: View) -> dict[str, Any]:
        paints, contents, wire = [], [], 0
        answers: dict[str, list[tuple[float, int]]] = {}
        for _ in range(ROUNDS):
            with self.tab() as page:
                contents.append(self.opened(page, view))
                page.wait_for_load_state("networkidle")
                paints.append(page.evaluate(PAINTED))
                wire = page.evaluate(WIRE)
                for answer in page.evaluate(ANSWERS):
                    answers.setdefault(answer["path"], []).append((answer["milliseconds"], answer["bytes"]))
        return {
            "paint": round(median(paints)),
            "content": round(median(contents)),
            "kilobytes": round(wire / 1000),
            "answers": {
                path: {"milliseconds": round(median(took for took, _ in each)), "kilobytes": round(each[0][1] / 1000)}
                for path, each in sorted(answers.items())
            },
        }

    def static(self, address: str) -> float:
        """Return the first paint of the static page."""
        paints = []
        for _ in range(ROUNDS):
            with self.tab() as page:
                page.goto(address, wait_until="networkidle")
                paints.append(page.evaluate(PAINTED))
        return float(round(median(paints), 1))

    def search(self, text: str) -> dict[str, Any]:
        times, options = [], 0
        with self.tab() as page:
            page.goto("/", wait_until="networkidle")
            for _ in range(3):
                found = page.evaluate(TYPED, [text, 0])
                times.append(found["took"])
                options = found["options"]
        return {"milliseconds": round(median(times)), "options": options}

    def frames(self, path: str, is_whole: bool) -> dict[str, Any]:
        """Return the frames per second while a graph is panned, at the size at which it is opened or as a whole."""
        with self.tab() as page:
            self.opened(page, View(path, ".card.is-start"))
            page.wait_for_load_state("networkidle")
            if is_whole:
                page.get_by_role("button", name="Fit").click()
            page.wait_for_timeout(1_000)
            with processor_time(self.browser, page) as used:
                found = page.evaluate(PANNED, [".canvas", PANNING_SECONDS])
        frames = max(1, found.pop("frames"))
        each = {name: milliseconds / frames for name, milliseconds in used.items()}
        return {name: round(value, 1) for name, value in (found | each).items()}

    def empty_frames(self, address: str) -> float:
        """Return the frames per second of a loop that draws nothing."""
        with self.tab() as page:
            page.goto(address)
            return float(round(page.evaluate(PANNED, [".canvas", PANNING_SECONDS])["rate"], 1))

    def layouts(self) -> dict[str, Any]:
        with self.tab() as page:
            page.goto("/", wait_until="networkidle")
            found = {count: page.evaluate(LAID_OUT, [count, ROUNDS]) for count in LAYOUTS}
        return {
            f"{count} cards": {name: round(value, 1) for name, value in each.items()} for count, each in found.items()
        }


def measure(
    browser: Browser, address: str, jobs: int, parts: Collection[str], progress: Callable[[str, object], None]
) -> dict[str, Any]:
    """Return the measurements of some parts of the page at an address."""
    measuring = Measuring(browser, address)
    result: dict[str, Any] = {}

    def add(group: str, name: str, value: object) -> None:
        result.setdefault(group, {})[name] = value
        progress(f"{group}: {name}", value)

    with static_page() as static:
        add("reference", "static page, paint", measuring.static(static))
        add("reference", "frames per second of nothing", measuring.empty_frames(static))
    add("reference", "answer that reads nothing", measuring.view(View("/page/icon.svg", "svg"))["content"])
    for name, view in views(jobs).items() if "views" in parts else ():
        add("views", name, measuring.view(view))
    for name, text in searches(jobs).items() if "search" in parts else ():
        add("search", name, measuring.search(text))
    for name, value in measuring.layouts().items() if "layout" in parts else ():
        add("layout", name, value)
    for cards in GRIDS if "panning" in parts else ():
        add("panning", f"{cards} cards", measuring.frames(all_of(grid_start(cards)), False))
        add("panning", f"{cards} cards, all in sight", measuring.frames(all_of(grid_start(cards)), True))
    return result


def page_weight() -> dict[str, int]:
    """Return the bytes of all files of the page, as they are and compressed."""
    import headwater_web

    files = [path for path in (Path(headwater_web.__file__).parent / "page").rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in files if path.suffix != ".ts"]
    return {
        "files": len(texts),
        "bytes": sum(map(len, texts)),
        "compressed": sum(len(gzip.compress(each)) for each in texts),
    }


def run(home: Path, jobs: int, runs: int, parts: Collection[str]) -> dict[str, Any]:
    before = pace()
    stored = stored_runs(build(home, jobs, runs))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("needs Chromium: apt-get install chromium")
    with serving(home) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        measured = measure(
            browser, address, jobs, parts, lambda name, value: print(f"  {name}: {json.dumps(value)}", flush=True)
        )
        browser.close()
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "pace_milliseconds": before,
        "jobs": jobs,
        "runs": stored,
        "weight": page_weight(),
        **measured,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--home", type=Path, help="keep the graph here [a temporary folder]")
    parser.add_argument("--part", action="append", choices=PARTS, help="measure this part alone; may be repeated")
    parser.add_argument("--no-record", action="store_true", help="append nothing to bench/results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        home = given.home or Path(folder)
        try:
            result = run(home, given.jobs, given.runs, given.part or PARTS)
        finally:
            headwater_stack.down(home)
    show(result, None if given.no_record else "page")


if __name__ == "__main__":
    main()
