"""The lineage of the jobs of ``jobs/``, fact by fact, as recorded in the files ``*.facts`` beside them.

``python -m tests.spark.reference --jobs tests/spark/jobs --out DIR --record`` writes those files again; review them before
you commit them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .comparison import difference, facts, recorded
from .versions import warnings

pytestmark = pytest.mark.end_to_end

JOBS = Path(__file__).parent / "jobs"
NAMES = sorted(path.stem for path in JOBS.glob("*.facts"))


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with each job's events, from one driver."""
    out = tmp_path_factory.mktemp("jobs")
    command = [sys.executable, "-m", "tests.spark.reference", "--jobs", str(JOBS), "--out", str(out), *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-4000:]
    assert warnings(done.stderr) == []
    return out


@pytest.mark.parametrize("name", NAMES)
def test_a_job_s_lineage_is_as_recorded(output: Path, name: str) -> None:
    events = [json.loads(line) for line in (output / f"{name}.jsonl").read_text().splitlines()]
    assert events[-1]["eventType"] == "COMPLETE"
    assert difference(facts(events, str(output / "work" / name)), recorded((JOBS / f"{name}.facts").read_text())) == []
