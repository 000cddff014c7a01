"""Packed records: unpacking restores the record, also in many threads at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, pack, unpack

IN_THREADS = """
import os
from concurrent.futures import ThreadPoolExecutor
from headwater_graph.model.records import JobRecord, pack, unpack

def restores(number):
    record = JobRecord({f"facet{at}": (number, at, os.urandom(20) * (number % 97)) for at in range(40)})
    return all(unpack(pack(record), JobRecord) == record for _ in range(30))

with ThreadPoolExecutor(8) as threads:
    assert all(threads.map(restores, range(400)))
"""


@pytest.mark.parametrize(
    "record",
    [
        RunRecord(jobs={}, first=1, last=2, facets={"a": (1, 2, b"{}")}, entries={"x"}),
        JobRecord({"a": (1, 2, b"{}")}, (3, 4, b'["n","j"]')),
        DatasetRecord({"a": (1, 2, b"{}")}),
    ],
)
def test_unpacking_restores_the_record(record: Any) -> None:
    assert unpack(pack(record), type(record)) == record


def test_many_threads_pack_and_unpack_at_once() -> None:
    # In a process of its own: threads that share a zstd object crash it.
    result = subprocess.run([sys.executable, "-c", IN_THREADS], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_a_record_of_a_newer_format_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="upgrade"):
        unpack(b"\x09" + pack(JobRecord())[1:], JobRecord)
