"""Processes are told apart by their birth, not by their number."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater_graph import processes
from headwater_stack.process import Process, is_alive, spawn, stop

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_a_process_runs_in_a_session_of_its_own_and_writes_to_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os, sys; print(os.getsid(0) == os.getpid()); print('e', file=sys.stderr)"]
    log = tmp_path / "logs" / "x.log"
    child = spawn(command, log, os.environ)
    while is_alive(child):
        time.sleep(0.01)
    assert log.read_text() == "True\ne\n" or log.read_text() == "e\nTrue\n"


def test_a_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    starter = (
        "import sys, os, pathlib; from headwater_stack.process import spawn;"
        f"child = spawn({SLEEP!r}, pathlib.Path({str(tmp_path / 'x.log')!r}), os.environ);"
        "print(child.pid, child.born)"
    )
    pid, born = subprocess.check_output([sys.executable, "-c", starter], text=True).split()
    child = Process(int(pid), born)
    assert is_alive(child)
    stop([child], 10)
    assert not is_alive(child)


def test_a_killed_child_is_dead_although_its_id_is_still_in_use(tmp_path: Path) -> None:
    child = spawn(SLEEP, tmp_path / "x.log", os.environ)
    os.kill(child.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(child)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc to tell threads apart")
def test_a_process_whose_other_threads_still_run_is_alive_though_its_main_thread_is_dead(tmp_path: Path) -> None:
    ends_main_thread = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start();"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    child = spawn([sys.executable, "-c", ends_main_thread], tmp_path / "x.log", os.environ)
    stat = Path(f"/proc/{child.pid}/stat")
    deadline = time.monotonic() + 20
    while stat.read_text().rpartition(")")[2].split()[0] != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_alive(child)
    os.kill(child.pid, signal.SIGKILL)
    stop([child], 10)
    assert not is_alive(child)


def test_another_birth_is_another_process() -> None:
    assert not is_alive(Process(os.getpid(), "another"))
    assert not is_alive(Process(os.getpid(), ""))


def test_both_ways_to_ask_for_a_birth_know_the_living_and_the_dead(tmp_path: Path) -> None:
    child = spawn(SLEEP, tmp_path / "x.log", os.environ)
    for get in (processes._start_by_proc, processes._start_by_ps):
        assert get(child.pid) == get(child.pid) is not None
    stop([child], 10)
    for get in (processes._start_by_proc, processes._start_by_ps):
        assert get(child.pid) is None
