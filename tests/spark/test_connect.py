"""A Spark Connect session, where PySpark's packages for it are installed; ``make test-pyspark`` brings its own."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from headwater.spark import session

from .connect import check


@pytest.mark.end_to_end
@pytest.mark.skipif(find_spec("grpc_status") is None, reason="pyspark[connect] is not installed here")
def test_a_connect_session_has_lineage_or_a_warning_and_its_job_is_unaffected(tmp_path: Path) -> None:
    assert check(Path(sys.executable), tmp_path) == []


def test_a_session_without_a_jvm_is_logged_once_and_not_instrumented(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    assert session.instrument(object()) is None
    assert ["Spark Connect session" in record.getMessage() for record in caplog.records] == [True]
