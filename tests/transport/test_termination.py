"""SIGTERM in programs without a handler: events are delivered or on disk, and the process still dies of the signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ..servers import Servers
from .events import arrived, eventually, run_ids, spooled, spooled_run_ids
from .programs import HEAD, environment, run, start
from .proxy import FaultyProxy

NOBODY = "127.0.0.1:1"
KILLED = -signal.SIGTERM


def terminated(program: str, environ: dict[str, str], head: str = HEAD) -> tuple[int, str, str]:
    """Run the program until it prints ``ready``, send SIGTERM; return its exit code, further output and errors."""
    with start(program, environ, head) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "ready\n", process.communicate()[1]
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


RUNS = """
from headwater import lineage
with lineage.run("n", "j") as run:
    for n in range(1000):
        transport.emit(event(f"r{n}"))
    print("ready", flush=True)
    while True:
        time.sleep(60)
"""


def test_a_terminated_run_delivers_what_it_emitted(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = RUNS.replace("1000", "200").replace('print("ready", flush=True)', "os.kill(os.getpid(), signal.SIGTERM)")
    ended = run(program, environment(spool_dir, servers.kafka_bootstrap_servers, topic))
    assert (ended.code, ended.errors) == (KILLED, "")
    reached = run_ids(arrived(servers.kafka_bootstrap_servers, topic, 202))
    assert {f"r{n}" for n in range(200)} < reached
    assert len(reached) == 201
    assert spooled_run_ids(spool_dir) == []


def types_by_job(messages: list[tuple[bytes | None, bytes]]) -> dict[str, list[str]]:
    """The event types of each job, in the order of their times."""
    events = sorted(map(json.loads, (value for _, value in messages)), key=lambda event: str(event["eventTime"]))
    found: dict[str, list[str]] = {}
    for event in events:
        found.setdefault(event["job"]["name"], []).append(event["eventType"])
    return found


NESTED = """
from headwater import lineage
with lineage.run("n", "done"):
    pass
with lineage.run("n", "outer") as outer:
    outer.reads("d", "in")
    with lineage.run("n", "inner"):
        print("ready", flush=True)
        {busy}
"""
BUSY = {
    "in Python": "time.sleep(3600)",
    # No Python handler runs before the call returns, in an hour or so.
    "outside Python": "import hashlib; hashlib.pbkdf2_hmac('sha512', b'p', b's', 2_000_000_000)",
}


@pytest.mark.parametrize("busy", BUSY)
def test_open_runs_of_a_terminated_process_fail(busy: str, servers: Servers, topic: str, spool_dir: Path) -> None:
    program = NESTED.format(busy=BUSY[busy])
    code, _, errors = terminated(program, environment(spool_dir, servers.kafka_bootstrap_servers, topic))
    assert (code, errors) == (KILLED, "")
    messages = arrived(servers.kafka_bootstrap_servers, topic, 6)
    assert types_by_job(messages) == {
        "done": ["START", "COMPLETE"],
        "outer": ["START", "FAIL"],
        "inner": ["START", "FAIL"],
    }
    failed = [event for event in map(json.loads, (value for _, value in messages)) if event["eventType"] == "FAIL"]
    assert {event["run"]["facets"]["errorMessage"]["message"] for event in failed} == {
        "the process was ended by SIGTERM"
    }
    assert {event["job"]["name"]: len(event["inputs"]) for event in failed} == {"outer": 1, "inner": 0}


def test_a_run_in_a_process_that_handles_sigterm_ends_as_its_handler_decides(
    servers: Servers, topic: str, spool_dir: Path
) -> None:
    program = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" + NESTED.format(busy=BUSY["in Python"])
    code, _, errors = terminated(program, environment(spool_dir, servers.kafka_bootstrap_servers, topic))
    assert (code, errors) == (0, "")
    types = types_by_job(arrived(servers.kafka_bootstrap_servers, topic, 6))
    assert types == {job: ["START", "COMPLETE"] for job in ("done", "outer", "inner")}


def test_a_terminated_child_leaves_the_runs_of_its_parent_open(spool_dir: Path) -> None:
    program = """
    from headwater import lineage
    with lineage.run("n", "parent"):
        child = os.fork()
        if child == 0:
            with lineage.run("n", "child"):
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)
        print(os.waitpid(child, 0)[1], flush=True)
    """
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert (ended.code, ended.output) == (0, "15\n"), ended.errors
    types = types_by_job(spooled(spool_dir))
    assert types == {"parent": ["START", "COMPLETE"], "child": ["START", "FAIL"]}


def test_a_terminated_run_without_kafka_leaves_its_events_to_the_next_process(
    servers: Servers, topic: str, spool_dir: Path
) -> None:
    code, _, errors = terminated(RUNS, environment(spool_dir, NOBODY, topic, close_timeout=1.0))
    assert (code, "Traceback" in errors) == (KILLED, False)
    expected = {f"r{n}" for n in range(1000)}
    left = spooled_run_ids(spool_dir)
    assert expected < set(left)
    # The run's own START and FAIL, too.
    assert len(left) == 1002
    environ = environment(spool_dir, servers.kafka_bootstrap_servers, topic)
    program = """
    transport.emit(event("next"))
    deadline = time.monotonic() + 30
    while counters().replayed < 1002 and time.monotonic() < deadline: time.sleep(0.05)
    """
    assert run(program, environ).code == 0
    assert expected < run_ids(arrived(servers.kafka_bootstrap_servers, topic, 1003))
    assert spooled_run_ids(spool_dir) == []


def test_the_death_is_delayed_by_no_more_than_close_timeout(proxy: FaultyProxy, topic: str, spool_dir: Path) -> None:
    proxy.mode = "hang"
    begun = time.monotonic()
    code, _, _ = terminated(RUNS, environment(spool_dir, proxy.address, topic, close_timeout=1.0))
    assert code == KILLED
    assert time.monotonic() - begun < 30
    assert len(spooled_run_ids(spool_dir)) == 1002


def test_a_second_signal_does_not_interrupt_the_delivery(spool_dir: Path) -> None:
    program = RUNS.replace(
        'print("ready", flush=True)',
        "os.kill(os.getpid(), signal.SIGTERM) or os.kill(os.getpid(), signal.SIGTERM)",
    )
    program = "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()\n" + program
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=2.0))
    assert ended.code == KILLED
    assert len(spooled_run_ids(spool_dir)) == 1002


def test_a_handler_that_the_host_has_set_before_stays(spool_dir: Path) -> None:
    program = """
    def own(*_): print("own", flush=True); sys.exit(7)
    signal.signal(signal.SIGTERM, own)
    transport.emit(event("r"))
    print("ready", signal.getsignal(signal.SIGTERM) is own, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    """
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert (ended.code, ended.output) == (7, "ready True\nown\n")
    assert spooled_run_ids(spool_dir) == ["r"]


@pytest.mark.parametrize("choice", ["lambda *_: (print('own', flush=True), sys.exit(7))", "signal.SIG_IGN"])
def test_a_handler_that_the_host_sets_later_replaces_the_emitters(choice: str, spool_dir: Path) -> None:
    program = f"""
    transport.emit(event("first"))
    signal.signal(signal.SIGTERM, {choice})
    transport.emit(event("second"))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(2)
    sys.exit(7)
    """
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert ended.code == 7
    assert ("own" in ended.output) == ("own" in choice)


def test_importing_and_configuring_set_no_handler(spool_dir: Path) -> None:
    program = """
    print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, signal.set_wakeup_fd(-1), threading.active_count())
    """
    assert run(program, environment(spool_dir, NOBODY, "t")).output == "True -1 1\n"


def test_an_event_loop_keeps_its_own_handling(spool_dir: Path) -> None:
    # asyncio is woken through the same descriptor that wakes the emitter's listener.
    program = """
    import asyncio
    async def main(first):
        if first: transport.emit(event("r"))
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        if not first: transport.emit(event("r"))
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stopped.wait(), 20)
        print("stopped", flush=True)
    asyncio.run(main(len(sys.argv) > 1))
    """
    for head in (HEAD, "import sys; sys.argv.append('first')\n" + HEAD):
        ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5), head)
        assert (ended.code, ended.output) == (0, "stopped\n"), ended.errors


def test_other_signals_of_an_event_loop_leave_sigterm_to_the_emitter(spool_dir: Path) -> None:
    program = """
    import asyncio
    async def main():
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print, "usr1")
        transport.emit(event("r"))
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.sleep(0.2)
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)
    asyncio.run(main())
    """
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert (ended.code, ended.output) == (KILLED, "usr1\n"), ended.errors
    assert spooled_run_ids(spool_dir) == ["r"]


def test_a_main_thread_that_is_busy_outside_python(spool_dir: Path) -> None:
    # No Python handler runs before the call returns, in an hour or so.
    program = """
    import hashlib
    transport.emit(event("r"))
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha512", b"p", b"s", 2_000_000_000)
    """
    code, _, errors = terminated(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert (code, errors.count("Traceback")) == (KILLED, 0)
    assert spooled_run_ids(spool_dir) == ["r"]


def test_the_first_event_from_another_thread_and_the_next_from_the_main_thread(spool_dir: Path) -> None:
    program = """
    thread = threading.Thread(target=lambda: transport.emit(event("thread")), daemon=True)
    thread.start(); thread.join()
    print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, flush=True)
    transport.emit(event("main"))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
    """
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert (ended.code, ended.output) == (KILLED, "True\n")
    assert spooled_run_ids(spool_dir) == ["thread", "main"]


def test_a_child_starts_with_the_default(spool_dir: Path) -> None:
    program = """
    transport.emit(event("parent"))
    child = os.fork()
    if child == 0:
        print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, signal.set_wakeup_fd(-1), flush=True)
        time.sleep(60)
        os._exit(0)
    time.sleep(0.3)
    os.kill(child, signal.SIGTERM)
    print(os.waitpid(child, 0)[1], flush=True)
    """
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert (ended.code, ended.output) == (0, "True -1\n15\n"), ended.errors
    assert spooled_run_ids(spool_dir) == ["parent"]


def test_children_terminated_at_any_moment_leave_their_parent_alone(spool_dir: Path) -> None:
    # A child shares the descriptor by which signals wake its parent until its fork is complete.
    program = """
    import gc, multiprocessing
    transport.emit(event("parent"))
    context = multiprocessing.get_context("fork")
    codes = set()
    for n in range(100):
        child = context.Process(target=time.sleep, args=(60,))
        child.start()
        time.sleep(n * 2e-5)
        child.terminate()
        child.join()
        codes.add(child.exitcode)
    time.sleep(2)
    print(codes)
    """
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5))
    assert (ended.code, ended.output) == (0, "{-15}\n"), ended.errors


def test_a_forked_child_delivers_only_its_own_events(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = """
    import multiprocessing
    def work():
        for n in range(50): transport.emit(event(f"child{n}"))
        print("emitted", flush=True)
        time.sleep(60)
    transport.emit(event("parent"))
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    time.sleep(1)
    child.terminate(); child.join()
    print(child.exitcode)
    """
    # A fork while the parent connects may leave the child without a connection: another process sends its events then.
    ended = run(program, environment(spool_dir, servers.kafka_bootstrap_servers, topic, sender_lifetime=60))
    assert (ended.code, ended.output) == (0, "emitted\n-15\n"), ended.errors
    expected = {"parent"} | {f"child{n}" for n in range(50)}
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 51, seconds=60)) == expected


def test_started_programs_inherit_nothing(spool_dir: Path) -> None:
    program = """
    import subprocess
    transport.emit(event("parent"))
    child = subprocess.Popen([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"], stdout=-1)
    child.stdout.readline()
    child.terminate()
    print(child.wait())
    """
    assert run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5)).output == "-15\n"


def in_own_pid_namespace() -> list[str]:
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    usable = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if usable else []


@pytest.mark.skipif(not in_own_pid_namespace(), reason="needs a process namespace")
def test_the_first_process_of_a_container_survives_as_before(spool_dir: Path) -> None:
    # The kernel ignores a default SIGTERM there: the events are delivered, and the program continues.
    inner = """
    assert os.getpid() == 1
    transport.emit(event("before"))
    os.kill(1, signal.SIGTERM)
    transport.emit(event("after"))
    os.kill(1, signal.SIGTERM)
    print(signal.getsignal(signal.SIGTERM) != signal.SIG_DFL, counters().emitted, counters().spooled, flush=True)
    os._exit(5)
    """
    command = [*in_own_pid_namespace(), sys.executable, "-c", HEAD + textwrap.dedent(inner)]
    program = f"import subprocess, sys; sys.exit(subprocess.call({command!r}))"
    ended = run(program, environment(spool_dir, NOBODY, "t", close_timeout=0.5), "")
    assert (ended.code, ended.output) == (5, "True 2 2\n"), ended.errors
    assert spooled_run_ids(spool_dir) == ["before", "after"]


def test_killed_while_kafka_is_away_loses_only_the_last_moments(
    proxy: FaultyProxy, topic: str, spool_dir: Path
) -> None:
    proxy.mode = "swallow"
    program = """
    def work():
        for n in range(100): transport.emit(event(f"r{n}"))
        print("ready", flush=True)
        time.sleep(60)
    thread = threading.Thread(target=work); thread.start(); thread.join()
    """
    with start(program, environment(spool_dir, proxy.address, topic, spool_after=0.5)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert eventually(lambda: sum(path.read_bytes().count(b'"runId"') for path in spool_dir.glob("*.spool")) == 100)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert sorted(spooled_run_ids(spool_dir)) == sorted(f"r{n}" for n in range(100))
