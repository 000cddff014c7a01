"""The modules of the page that need no browser, tested by Node's own test runner; the size of the page."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import headwater_web

HERE = Path(__file__).parent
PAGE = Path(headwater_web.__file__).parent / "page"
NODE = shutil.which("node")
MOST_COMPRESSED_BYTES = 300_000


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_modules_of_the_shell() -> None:
    assert NODE is not None
    done = subprocess.run([NODE, "--test", str(HERE / "shell.test.mjs")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_is_small() -> None:
    # Declarations of types are not served.
    served = [path for path in PAGE.rglob("*") if path.is_file() and not path.name.endswith(".d.ts")]
    assert 0 < sum(len(gzip.compress(path.read_bytes())) for path in served) < MOST_COMPRESSED_BYTES


def test_no_module_of_the_page_makes_markup_from_text() -> None:
    modules = sorted(PAGE.rglob("*.js"))
    assert modules
    unsafe = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:")
    assert [path.name for path in modules if unsafe.search(path.read_text(encoding="utf-8"))] == []


def test_only_one_module_sends_requests() -> None:
    sending = re.compile(r"\bfetch\(|XMLHttpRequest|new EventSource|sendBeacon|new WebSocket")
    assert [path.name for path in sorted(PAGE.rglob("*.js")) if sending.search(path.read_text("utf-8"))] == ["api.js"]
