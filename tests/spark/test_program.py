"""Whole programs under ``headwater instrument``: their results are unaffected, and their events are complete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.end_to_end

SESSION = """
import os, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").appName("Job").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
"""
WRITE = 'spark.range(3).selectExpr("id", "id * 2 as x").write.parquet("out")\n'


class Outcome:
    """The exit code, output and events of a program."""

    def __init__(self, code: int, out: str, err: str, folder: Path) -> None:
        self.code, self.out, self.err = code, out, err
        log = folder / "events.jsonl"
        self.events: list[dict[str, Any]] = []
        if log.exists():
            self.events = [json.loads(line) for line in log.read_text().splitlines()]

    @property
    def kinds(self) -> list[str]:
        return [f"{event['eventType']} {event['job']['name']}" for event in self.events]

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.err.splitlines() if "lineage" in line]


def command(folder: Path, program: str, *args: str) -> tuple[list[str], dict[str, str]]:
    (folder / "job.py").write_text(textwrap.dedent(program))
    environ = {
        **os.environ,
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(folder / "events.jsonl"),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "--driver-memory 512m pyspark-shell",
    }
    run = [sys.executable, "-c", "from headwater_cli.main import main; main()", "instrument", "job.py", *args]
    return run, environ


def instrumented(folder: Path, program: str, *args: str) -> Outcome:
    run, environ = command(folder, program, *args)
    done = subprocess.run(run, capture_output=True, text=True, cwd=folder, env=environ, timeout=300)
    return Outcome(done.returncode, done.stdout, done.stderr, folder)


WRITTEN = "job.execute_insert_into_hadoop_fs_relation_command"


def test_arguments_output_and_exit_code_are_the_program_s(tmp_path: Path) -> None:
    program = SESSION + WRITE + "print(sys.argv[1:], __name__, __file__)\nsys.exit(7)\n"
    done = instrumented(tmp_path, program, "--day", "x", "-h")
    assert done.code == 7
    assert done.out.splitlines()[-1] == "['--day', 'x', '-h'] __main__ job.py"
    assert done.kinds[0] == "START job"
    assert [kind.split(" ")[0] for kind in done.kinds] == ["START", "START", "COMPLETE", "FAIL"]
    assert done.kinds[1].startswith(f"START {WRITTEN}")
    assert "7" in done.events[-1]["run"]["facets"]["errorMessage"]["message"]


def test_a_traceback_is_the_program_s_own(tmp_path: Path) -> None:
    done = instrumented(tmp_path, SESSION + 'def broken():\n    raise ValueError("on purpose")\nbroken()\n')
    assert done.code == 1
    shown = done.err[done.err.index("Traceback") :]
    assert shown.splitlines()[-1] == "ValueError: on purpose"
    assert "headwater" not in shown
    assert "runpy" not in shown
    assert done.kinds == ["START job", "FAIL job"]


def test_a_program_that_calls_os_exit_emits_all_events(tmp_path: Path) -> None:
    done = instrumented(tmp_path, SESSION + WRITE + "os._exit(0)\n")
    assert done.code == 0
    assert [kind.split(" ")[0] for kind in done.kinds] == ["START", "START", "COMPLETE", "COMPLETE"]


def terminated(folder: Path, program: str) -> Outcome:
    """Run a program, and end it by SIGTERM once it has written the file ``ready``."""
    run, environ = command(folder, program)
    with subprocess.Popen(
        run, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 200
        while not (folder / "ready").exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    return Outcome(process.returncode, out, err, folder)


def test_a_program_ended_by_sigterm_emits_its_events(tmp_path: Path) -> None:
    done = terminated(tmp_path, SESSION + WRITE + 'open("ready", "w").close()\nimport time\ntime.sleep(120)\n')
    assert done.code == -signal.SIGTERM
    assert [kind.split(" ")[0] for kind in done.kinds] == ["START", "START", "COMPLETE", "FAIL"]


def test_a_write_that_sigterm_interrupts_is_aborted(tmp_path: Path) -> None:
    program = """
        from pyspark.sql.functions import udf
        def slow(value):
            open("ready", "w").close()
            import time
            time.sleep(120)
            return value
        spark.range(3).select(udf(slow, "long")("id").alias("x")).write.parquet("out")
    """
    done = terminated(tmp_path, SESSION + textwrap.dedent(program))
    assert done.code == -signal.SIGTERM
    assert [kind.split(" ")[0] for kind in done.kinds] == ["START", "START", "ABORT", "FAIL"]
    assert done.events[2]["outputs"][0]["name"] == str(tmp_path / "out")
    assert "SIGTERM" in done.events[2]["run"]["facets"]["errorMessage"]["message"]


def test_the_end_waits_for_writes_in_threads(tmp_path: Path) -> None:
    program = """
        import threading, time
        from concurrent.futures import ThreadPoolExecutor
        def later():
            threading.main_thread().join()
            spark.range(3).write.parquet("late")
        threading.Thread(target=later).start()
        pool = ThreadPoolExecutor(1)  # its idle worker ends with the interpreter only
        pool.submit(spark.range(3).write.parquet, "pooled").result()
        sys.exit(3)
    """
    done = instrumented(tmp_path, SESSION + textwrap.dedent(program))
    assert done.code == 3
    ends = [event for event in done.events if event["eventType"] in {"COMPLETE", "FAIL"}]
    written = [dataset["name"] for event in ends for dataset in event["outputs"]]
    assert written == [str(tmp_path / "pooled"), str(tmp_path / "late")]
    assert (ends[-1]["job"]["name"], ends[-1]["eventType"]) == ("job", "FAIL")
    assert "3" in ends[-1]["run"]["facets"]["errorMessage"]["message"]


def test_a_query_that_streams_at_the_end_is_aborted(tmp_path: Path) -> None:
    program = """
        spark.range(3).write.parquet("in")
        stream = spark.readStream.schema("id long").parquet("in").writeStream.format("parquet")
        query = stream.option("checkpointLocation", "check").start("streamed")
        query.processAllAvailable()
    """
    done = instrumented(tmp_path, SESSION + textwrap.dedent(program))
    (end,) = [event for event in done.events if event["eventType"] == "ABORT"]
    assert [dataset["name"] for dataset in end["outputs"]] == [str(tmp_path / "streamed")]
    assert done.kinds[-1] == "COMPLETE job"


def test_an_action_that_fails_is_a_run_even_without_datasets(tmp_path: Path) -> None:
    program = """
        for fail in (
            lambda: spark.range(1).selectExpr("raise_error('on purpose')").collect(),
            lambda: spark.sparkContext.parallelize([1]).map(lambda value: value / 0).collect(),
        ):
            try:
                fail()
            except Exception:
                pass
        spark.range(3).collect()
        spark.sparkContext.parallelize([1]).count()
    """
    done = instrumented(tmp_path, SESSION + textwrap.dedent(program))
    assert [kind.split(" ")[0] for kind in done.kinds] == ["START", "START", "FAIL", "START", "FAIL", "COMPLETE"]
    errors = [
        event["run"]["facets"]["errorMessage"]["message"] for event in done.events if event["eventType"] == "FAIL"
    ]
    assert "on purpose" in errors[0]
    assert "ZeroDivisionError" in errors[1]


def test_a_fault_in_any_stage_of_the_emitter_does_not_affect_the_job(tmp_path: Path) -> None:
    """One driver in which each stage of the emitter is broken in turn: see ``broken.py``."""
    run = [sys.executable, "-m", "tests.spark.broken", str(tmp_path)]
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(run, capture_output=True, text=True, cwd=Path(__file__).parents[2], env=environ, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = json.loads(done.stdout.splitlines()[-1])
    assert outcomes.pop("nothing") == {"rows": 3, "warnings": 0, "complete": True}
    assert len(outcomes) == 13
    for stage, outcome in outcomes.items():
        assert outcome["rows"] == 3, stage
        assert outcome["warnings"] == 1, (stage, outcome)
        # Without counters or inputs, the events of the run are still complete.
        assert not outcome["complete"] or stage in {"reading counters", "the reads of a leaf"}, stage


def test_a_program_without_a_session_has_lineage_and_no_session_is_created(tmp_path: Path) -> None:
    program = """
        from pyspark import SparkContext
        sc = SparkContext("local[1]", "only rdds")
        sc.setLogLevel("ERROR")
        open("in.txt", "w").write("a b")
        sc.textFile("in.txt").map(str.upper).saveAsTextFile("out")
        print(sc._jvm.org.apache.spark.sql.SparkSession.getDefaultSession().isDefined())
    """
    done = instrumented(tmp_path, program)
    assert done.out.splitlines()[-1] == "False"
    name = "only_rdds.map_partitions_python_map_partitions_hadoop"
    assert done.kinds == ["START only_rdds", f"START {name}", f"COMPLETE {name}", "COMPLETE only_rdds"]
    assert done.events[1]["inputs"][0]["name"] == str(tmp_path / "in.txt")
    assert done.events[1]["outputs"][0]["name"] == str(tmp_path / "out")
    assert done.warnings == []


def test_a_failed_write_has_its_message_and_its_stack_trace(tmp_path: Path) -> None:
    program = SESSION + 'try:\n    spark.range(1).selectExpr("raise_error(\'on purpose\')").write.parquet("out")\n'
    done = instrumented(tmp_path, program + "except Exception:\n    pass\n")
    assert [kind.split(" ")[0] for kind in done.kinds] == ["START", "START", "FAIL", "COMPLETE"]
    error = done.events[2]["run"]["facets"]["errorMessage"]
    assert "on purpose" in error["message"]
    assert "\n\tat org.apache.spark." in error["stackTrace"]


def test_a_plan_above_the_limits_has_inputs_and_outputs(tmp_path: Path) -> None:
    program = """
        from headwater.spark.jvm.driver import PlanLimits
        from headwater.spark.session import active
        spark.range(3).write.parquet("a")
        spark.range(3).write.parquet("b")
        active()[0].listener.driver.limits = PlanLimits(values=500)
        both = spark.read.parquet("a").join(spark.read.parquet("b"), "id")
        both.selectExpr(*(f"id + {n} as c{n}" for n in range(100))).write.parquet("out")
    """
    done = instrumented(tmp_path, SESSION + textwrap.dedent(program))
    ends = [event for event in done.events if event["eventType"] == "COMPLETE" and event["outputs"]]
    (end,) = [event for event in ends if event["outputs"][0]["name"].endswith("/out")]
    assert [dataset["name"] for dataset in end["inputs"]] == [str(tmp_path / "a"), str(tmp_path / "b")]
    (output,) = end["outputs"]
    assert len(output["facets"]["schema"]["fields"]) == 100
    columns = output["facets"]["columnLineage"]["fields"]
    assert 0 < len(columns) < 100
    assert [source["name"] for source in columns["c0"]["inputFields"]] == [str(tmp_path / "a")]
    assert "above a limit of size" in end["run"]["facets"]["headwater_incomplete"]["reason"]
