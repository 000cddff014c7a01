"""Results of benchmarks: printed, and appended as a JSON line to a file in bench/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def show(result: dict[str, Any], name: str | None) -> None:
    """Print a result, one value per line, and append it to ``results/<name>.jsonl`` unless ``name`` is None."""
    for key, value in result.items():
        print(f"{key:28} {value}")
    if name is not None:
        append(result, name)


def append(result: dict[str, Any], name: str) -> None:
    """Append a result to ``results/<name>.jsonl``."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as results:
        results.write(json.dumps(result) + "\n")
