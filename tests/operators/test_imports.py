"""The package imports few modules, and its public names exist."""

from __future__ import annotations

import subprocess
import sys

import headwater.operators as operators


def test_importing_the_package_imports_no_scheduler_and_no_graph() -> None:
    heavy = (
        "airflow",
        "prefect",
        "dagster",
        "pyspark",
        "neo4j",
        "pydantic",
        "headwater_consumer",
        "headwater_graph",
        "jinja2",
    )
    code = f"import sys, headwater.operators; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_there_and_sorted() -> None:
    assert all(hasattr(operators, name) for name in operators.__all__)
    assert len(set(operators.__all__)) == len(operators.__all__)
