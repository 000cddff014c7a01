"""The jobs of ``jobs/`` on another PySpark, in an environment of its own: ``python -m tests.spark.versions 3.5 ...``.

The facts must be the recorded ones, except for the differences in ``EXCEPTIONS``. Where the environment has the packages of
Spark Connect, its sessions are tested, too. The version ``client`` is the pure client of Spark Connect, which is tested with
a server of the newest version.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ..airflow.environments import SOURCES, environment
from .comparison import difference, facts, recorded
from .connect import check, check_client

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
CLIENT, NEWEST = "client", "4.2"
EXCEPTIONS: dict[str, dict[str, str]] = {}
"""Version -> patterns of expected differences, and their reasons."""


def differences(version: str, out: Path) -> list[str]:
    """Return the facts of a version that are not recorded (+), and recorded facts that it does not have (-)."""
    if version == CLIENT:
        server = environment(_requirements(NEWEST)) / "python"
        client = environment(HERE / f"pyspark-{CLIENT}.txt") / "python"
        return [f"connect {line}" for line in check_client(client, server, out / "connect")]
    requirements = _requirements(version)
    python = environment(requirements) / "python"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(CHECKOUT), SOURCES, str(CHECKOUT / "stack")])}
    known = _number(version)
    names = sorted(path.stem for path in (HERE / "jobs").glob("*.facts") if _since(path.with_suffix(".py")) <= known)
    command = [str(python), "-m", "tests.spark.reference", "--jobs", str(HERE / "jobs"), "--out", str(out), *names]
    done = subprocess.run(command, cwd=CHECKOUT, env=environ, timeout=900, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])
    found = warnings(done.stderr)
    for name in names:
        events = [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]
        wanted = recorded((HERE / "jobs" / f"{name}.facts").read_text())
        found += [f"{name} {line}" for line in difference(facts(events, str(out / "work" / name)), wanted)]
    if "grpcio-status" in requirements.read_text():
        found += [f"connect {line}" for line in check(python, out / "connect")]
    return [line for line in found if not any(re.search(pattern, line) for pattern in EXCEPTIONS.get(version, {}))]


def warnings(log: str) -> list[str]:
    """Return the emitter's warnings, as a fault of one event may not be visible in the others."""
    return [line for line in log.splitlines() if "lineage" in line]


def _since(job: Path) -> tuple[int, ...]:
    """The version whose Spark is the first that can run a job, by its ``# since:`` line."""
    found = re.search(r"^# since: *(.*)$", job.read_text(), re.MULTILINE)
    return () if found is None else _number(found[1])


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _requirements(version: str) -> Path:
    """The list for a version; a patch release that it doesn't name is refused, not replaced."""
    minor = ".".join(version.split(".")[:2])
    requirements = HERE / f"pyspark-{minor}.txt"
    listed = re.search(r"^pyspark==(.*)$", requirements.read_text(), re.MULTILINE) if requirements.exists() else None
    if listed is None or version not in (minor, listed[1]):
        known = sorted(path.stem.removeprefix("pyspark-") for path in HERE.glob("pyspark-*.txt"))
        found = f"; of {minor} it is {listed[1]}" if listed is not None else ""
        raise SystemExit(f"PySpark {version} is not listed{found} (there are {', '.join(known)})")
    return requirements


def main() -> None:
    failed = False
    for version in sys.argv[1:] or ["3.5", "4.0", "4.1", NEWEST, CLIENT]:
        with tempfile.TemporaryDirectory() as out:
            found = differences(version, Path(out))
        print(f"PySpark {version}: {len(found)} differences", *found, sep="\n  ", flush=True)
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
