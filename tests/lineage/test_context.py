"""A run is the parent of what happens inside it: in threads, asyncio tasks and subprocesses too."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headwater import lineage

from .conftest import RecordingTransport


def in_thread(function: Any) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def child(name: str) -> None:
    with lineage.run("n", name):
        pass


def test_a_thread_finds_the_only_run(transport: RecordingTransport) -> None:
    with lineage.run("n", "outer"):
        in_thread(lambda: child("in thread"))
    in_thread(lambda: child("after"))
    assert transport.parents() == {"outer": None, "in thread": "outer", "after": None}


def test_a_thread_does_not_guess_between_two(transport: RecordingTransport) -> None:
    first, second = lineage.run("n", "first"), lineage.run("n", "second")
    first.start()
    second.start()
    in_thread(lambda: child("in thread"))
    assert transport.parents()["in thread"] is None


def test_a_function_can_carry_its_run_to_other_threads(transport: RecordingTransport) -> None:
    other = lineage.run("n", "other")
    other.start()
    with lineage.run("n", "outer"), lineage.run("n", "inner"), ThreadPoolExecutor(4) as pool:
        list(pool.map(lineage.propagate(child), [f"in pool {n}" for n in range(8)]))
    assert {transport.parents()[f"in pool {n}"] for n in range(8)} == {"inner"}


def test_asyncio_tasks_have_separate_runs(transport: RecordingTransport) -> None:
    async def work(name: str) -> None:
        with lineage.run("n", name):
            await asyncio.sleep(0.01)
            with lineage.run("n", f"{name} inner"):
                await asyncio.sleep(0.01)

    async def all_of_them() -> None:
        with lineage.run("n", "outer"):
            await asyncio.gather(*(work(f"t{n}") for n in range(5)))

    asyncio.run(all_of_them())
    parents = transport.parents()
    assert all(parents[f"t{n}"] == "outer" and parents[f"t{n} inner"] == f"t{n}" for n in range(5))


def test_asyncio_to_thread(transport: RecordingTransport) -> None:
    async def work() -> None:
        with lineage.run("n", "outer"):
            await asyncio.to_thread(child, "in thread")

    asyncio.run(work())
    assert transport.parents()["in thread"] == "outer"


def test_a_forked_child_is_still_inside(transport: RecordingTransport) -> None:
    read, write = os.pipe()
    with lineage.run("n", "outer") as outer:
        if os.fork() == 0:
            current = lineage.current()
            os.write(write, (current.run_id if current else "none").encode())
            os._exit(0)
        os.wait()
    assert os.read(read, 100).decode() == outer.run_id
    os.close(read)
    os.close(write)


PROGRAM = """
import json, sys
from headwater import lineage
from headwater.transport import default
class Print:
    def emit(self, event): print(json.dumps(event))
default._shared = Print()
with lineage.run("n", sys.argv[1]) as run:
    run.writes("ns", sys.argv[1])
    with lineage.run("n", "grandchild"):
        pass
"""


def subprocess_events(variables: dict[str, str], name: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_subprocess_is_a_child_by_its_environment(transport: RecordingTransport) -> None:
    with lineage.run("n/with slash", "root"), lineage.run("n", "a/b") as outer:
        events = subprocess_events(outer.environment(), "sub")
    parent = events[0]["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == outer.run_id
    assert parent["job"] == {"namespace": "n", "name": "a/b"}
    assert parent["root"]["job"] == {"namespace": "n/with slash", "name": "root"}
    grandchild = events[1]["run"]["facets"]["parent"]
    assert grandchild["job"]["name"] == "sub"
    assert grandchild["root"] == parent["root"]


def test_subprocesses_can_share_the_run(transport: RecordingTransport) -> None:
    with lineage.run("n", "whole") as whole:
        variables = whole.environment(share=True)
        events = [event for name in ("whole", "whole") for event in subprocess_events(variables, name)]
    own = [event for event in events if event["job"]["name"] == "whole"]
    assert {event["run"]["runId"] for event in own} == {whole.run_id}
    # A member's success does not end the run: the one who shares it does.
    assert [event["eventType"] for event in own] == ["START", "RUNNING"] * 2
    assert transport.events_of_runs()[-1] == ("COMPLETE", "whole")


def test_another_job_in_a_sharing_process_is_a_child(transport: RecordingTransport) -> None:
    with lineage.run("n", "whole") as whole:
        events = subprocess_events(whole.environment(share=True), "other")
    assert events[0]["run"]["runId"] != whole.run_id
    assert events[0]["run"]["facets"]["parent"]["run"]["runId"] == whole.run_id


def test_processes_with_the_same_run_id_from_a_scheduler(
    monkeypatch: pytest.MonkeyPatch, transport: RecordingTransport
) -> None:
    events = [e for _ in range(2) for e in subprocess_events({"HEADWATER_RUN_ID": "shared-id"}, "train")]
    own = [event for event in events if event["job"]["name"] == "train"]
    assert {event["run"]["runId"] for event in own} == {"shared-id"}
    assert [event["eventType"] for event in own] == ["START", "COMPLETE"] * 2
    assert [
        event["run"]["facets"]["parent"]["run"]["runId"] for event in events if event["job"]["name"] == "grandchild"
    ] == ["shared-id"] * 4


def test_the_source_code_is_located(transport: RecordingTransport, tmp_path: Path) -> None:
    with lineage.run("n", "j", script=Path(__file__)):
        pass
    location = transport.events[0]["job"]["facets"].get("sourceCodeLocation")
    if location is None:
        pytest.skip("these tests do not run in a git work tree with a commit")
    assert location["path"] == "tests/lineage/test_context.py"
