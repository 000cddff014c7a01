"""The jobs of ``jobs/`` on another PySpark, in an environment of its own: ``python -m tests.spark.versions 3.5 ...``.

Each must tell what it tells here. Where the version gives Spark no such statement or plan, `BEYOND` says what is not asked.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.airflow.environments import SOURCES, environment

from .comparison import difference, facts, recorded

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
BEYOND: dict[str, dict[str, str]] = {}
"""Version -> patterns of differences, and why they are right there."""


def differences(version: str, out: Path) -> list[str]:
    """What the jobs say on a version and not here (+), or here and not there (-)."""
    python = environment(HERE / f"pyspark-{version}.txt") / "python"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(CHECKOUT), SOURCES, str(CHECKOUT / "stack")])}
    names = sorted(path.stem for path in (HERE / "jobs").glob("*.told"))
    command = [str(python), "-m", "tests.spark.reference", "--jobs", str(HERE / "jobs"), "--out", str(out), *names]
    subprocess.run(command, cwd=CHECKOUT, env=environ, check=True, timeout=900)
    found = []
    for name in names:
        events = [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]
        wanted = recorded((HERE / "jobs" / f"{name}.told").read_text())
        found += [f"{name} {line}" for line in difference(facts(events, str(out / "work" / name)), wanted)]
    return [line for line in found if not any(re.search(one, line) for one in BEYOND.get(version, {}))]


def main() -> None:
    failed = False
    for version in sys.argv[1:] or ["3.5", "4.0", "4.1", "4.2"]:
        with tempfile.TemporaryDirectory() as out:
            found = differences(version, Path(out))
        print(f"PySpark {version}: {len(found)} differences", *found, sep="\n  ", flush=True)
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
