"""Results of benchmarks: shown, and appended as one JSON line to bench/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def show(result: dict[str, Any], keep_as: str | None) -> None:
    """Print a result a value a line, and append it to ``results/<keep_as>.jsonl`` unless that is None."""
    for name, value in result.items():
        print(f"{name:28} {value}")
    if keep_as is not None:
        keep(result, keep_as)


def keep(result: dict[str, Any], name: str) -> None:
    """Append a result to ``results/<name>.jsonl``."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as results:
        results.write(json.dumps(result) + "\n")
