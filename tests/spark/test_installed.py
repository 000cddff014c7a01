"""The emitter as users install it: as a zip for spark-submit, and with a library's extensions found by entry points."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from .test_program import SESSION, WRITE, Outcome, instrumented

pytestmark = pytest.mark.end_to_end

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("emitter/headwater", "avro/headwater_avro")

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "acme-lineage"
version = "1.0"
[project.entry-points."headwater.spark"]
acme = "acme_lineage:AcmeFactory"
[project.entry-points."headwater.spark.nodes"]
"org.apache.spark.sql.catalyst.plans.logical.Range" = "acme_numbers:Numbers"
[tool.hatch.build.targets.wheel]
include = ["acme_*.py"]
"""
FACTORY = """
from headwater.spark import AbstractRunFacetBuilder, OpenLineageEventListenerFactory, QueryExecution


class Team(AbstractRunFacetBuilder[QueryExecution]):
    def build(self, event):
        return {"acme_team": {"name": "finance"}}


class AcmeFactory(OpenLineageEventListenerFactory):
    def create_run_facet_builders(self):
        return [Team()]
"""
# A node's lineage needs nothing of headwater, not even an import.
NUMBERS = """
from types import SimpleNamespace


class Numbers:
    def __init__(self, node):
        self.node = node

    def get_inputs(self, context):
        name = f"to_{self.node.fields['end']}"
        return [SimpleNamespace(identifier=SimpleNamespace(namespace="acme", name=name))]
"""


def zipped(target: Path) -> Path:
    """The packages that jobs need, as spark-submit takes them along."""
    with zipfile.ZipFile(target, "w") as archive:
        for package in PACKAGES:
            root = CHECKOUT / package
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(root.parent))
    return target


def recipe() -> str:
    """The program of the page on Spark that is submitted in a job's place."""
    page = (CHECKOUT / "docs" / "spark.md").read_text()
    found = re.search(r"```python\n(# run\.py\n.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


def test_a_job_is_submitted_as_documented(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(recipe())
    (tmp_path / "job.py").write_text(
        SESSION + WRITE + "import headwater\nprint(sys.argv[1:], headwater.__path__)\nsys.exit(4)\n"
    )
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--py-files", str(zipped(tmp_path / "headwater.zip")), "run.py", "job.py", "--day", "x"]
    environ = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(tmp_path / "events.jsonl"),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
    }
    environ.pop("PYSPARK_SUBMIT_ARGS", None)
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=400)
    outcome = Outcome(done.returncode, done.stdout, done.stderr, tmp_path)
    assert outcome.code == 4, outcome.err[-3000:]
    assert "['--day', 'x']" in outcome.out
    assert "headwater.zip/headwater" in outcome.out
    assert [kind.split(" ")[0] for kind in outcome.kinds] == ["START", "START", "COMPLETE", "FAIL"]
    assert outcome.warnings == []


def installed(folder: Path) -> Path:
    """A library that brings a factory and a node class, made into a wheel and installed from it."""
    source, target = folder / "source", folder / "installed"
    source.mkdir()
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "acme_lineage.py").write_text(FACTORY)
    (source / "acme_numbers.py").write_text(NUMBERS)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)], check=True)
    return target


def test_extensions_of_an_installed_library_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed(tmp_path)))
    done = instrumented(tmp_path, SESSION + WRITE)
    assert done.code == 0, done.err[-3000:]
    assert done.warnings == []
    (end,) = [event for event in done.events if event["eventType"] == "COMPLETE" and event["outputs"]]
    assert end["run"]["facets"]["acme_team"]["name"] == "finance"
    assert [(dataset["namespace"], dataset["name"]) for dataset in end["inputs"]] == [("acme", "to_3")]
