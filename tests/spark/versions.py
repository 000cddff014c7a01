"""The jobs of ``jobs/`` on another PySpark, in an environment of its own: ``python -m tests.spark.versions 3.5 ...``.

Each must tell what it tells here. Where the version gives Spark no such statement or plan, `BEYOND` says what is not asked.
Where the environment has the packages of Spark Connect, its sessions are tried, too.
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
from .connect import check

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
BEYOND: dict[str, dict[str, str]] = {}
"""Version -> patterns of differences, and why they are right there."""


def differences(version: str, out: Path) -> list[str]:
    """What the jobs say on a version and not here (+), or here and not there (-)."""
    requirements = _requirements(version)
    python = environment(requirements) / "python"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(CHECKOUT), SOURCES, str(CHECKOUT / "stack")])}
    names = sorted(path.stem for path in (HERE / "jobs").glob("*.told"))
    command = [str(python), "-m", "tests.spark.reference", "--jobs", str(HERE / "jobs"), "--out", str(out), *names]
    subprocess.run(command, cwd=CHECKOUT, env=environ, check=True, timeout=900)
    found = []
    for name in names:
        events = [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]
        wanted = recorded((HERE / "jobs" / f"{name}.told").read_text())
        found += [f"{name} {line}" for line in difference(facts(events, str(out / "work" / name)), wanted)]
    if "grpcio-status" in requirements.read_text():
        found += [f"connect {line}" for line in check(python, out / "connect")]
    return [line for line in found if not any(re.search(one, line) for one in BEYOND.get(version, {}))]


def _requirements(version: str) -> Path:
    """The list for a version; a patch release that it doesn't name is refused, not replaced."""
    minor = ".".join(version.split(".")[:2])
    requirements = HERE / f"pyspark-{minor}.txt"
    listed = re.search(r"^pyspark==(.*)$", requirements.read_text(), re.MULTILINE) if requirements.exists() else None
    if listed is None or version not in (minor, listed[1]):
        known = sorted(path.stem.removeprefix("pyspark-") for path in HERE.glob("pyspark-*.txt"))
        told = f"; of {minor} it is {listed[1]}" if listed is not None else ""
        raise SystemExit(f"PySpark {version} is not listed{told} (there are {', '.join(known)})")
    return requirements


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
