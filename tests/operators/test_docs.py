"""The code blocks of the documentation run, in order."""

from __future__ import annotations

import re
from pathlib import Path

from headwater.operators.naming import _PLATFORMS

PAGE = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"__name__": "docs"}
    for block in blocks:
        exec(compile(block, "docs/operators.md", "exec"), names)
    assert len(blocks) >= 5


def test_the_page_names_every_platform() -> None:
    missing = [kind for kind in _PLATFORMS if f"`{kind}`" not in PAGE and f"`{kind.removeprefix('aws')}`" not in PAGE]
    assert missing == []
