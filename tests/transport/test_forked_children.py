"""Events of children that are forked and end by ``os._exit`` are in Kafka, although their parents never emit.

Airflow's OpenLineage provider emits in such children. The programs use openlineage-python's client, as it does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.transport import HeadwaterConfig
from headwater.transport.broker import Message
from headwater.transport.process import spool_sender
from headwater.transport.spool import PENDING, Spool, segments

from ..servers import Servers
from .conftest import MakeTransport
from .events import (
    MemoryBroker,
    arrived,
    arrived_since,
    ends,
    eventually,
    run_event,
    run_ids,
    spooled_run_ids,
)
from .programs import HEAD, environment, run, start
from .proxy import FaultyProxy

NOBODY = "127.0.0.1:1"

# The parent makes no client: each child reads the configuration for itself, as those of the provider do.
FORKS = """
import os, subprocess, sys, time
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

def emit(run_id, kind="START"):
    event = RunEvent(eventType=RunState[kind], eventTime="2024-01-01T00:00:00Z", run=Run(run_id), job=Job("n", "j"))
    OpenLineageClient().emit(event)

def in_child(work, *arguments):
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        finally:
            os._exit(0)
    return child

def emit_in_child(*arguments):
    child = in_child(emit, *arguments)
    os.waitpid(child, 0)
"""
RUNS = [f"0190f5c8-0000-7000-8000-00000000000{n}" for n in range(8)]


def provider(spool_dir: Path, servers: str, topic: str, **settings: object) -> dict[str, str]:
    """The settings that the documents name for openlineage-python's clients."""
    environ = environment(spool_dir, servers, topic, **settings)
    return environ | {"OPENLINEAGE__TRANSPORT__TYPE": "headwater.transport.HeadwaterTransport"}


def run_states(servers: Servers, topic: str) -> set[tuple[str, str]]:
    """Return the runs and the types of the events that are in Kafka now."""
    before = dict.fromkeys(ends(servers.kafka_bootstrap_servers, topic), 0)
    events = map(json.loads, arrived_since(servers.kafka_bootstrap_servers, topic, before))
    return {(event["run"]["runId"], event["eventType"]) for event in events}


def has_sender(spool_dir: Path, topic: str) -> bool:
    """Return whether a process of its own sends this spool."""
    lock = spool_sender.try_lock(HeadwaterConfig(spool_dir=str(spool_dir), topic=topic))
    if lock is None:
        return True
    os.close(lock)
    return False


def test_six_children_of_a_parent_that_never_emits(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = f"for run_id in {RUNS[:6]}: emit_in_child(run_id)"
    # No process remains that could send the events later.
    ended = run(program, provider(spool_dir, servers.kafka_bootstrap_servers, topic, fork_wait=20), FORKS)
    assert (ended.code, ended.errors) == (0, "")
    assert run_states(servers, topic) == {(run_id, "START") for run_id in RUNS[:6]}
    assert segments(spool_dir, PENDING) == []


def test_a_child_that_leaves_the_spool_to_others_delivers_its_own(
    servers: Servers, topic: str, spool_dir: Path
) -> None:
    environ = provider(spool_dir, servers.kafka_bootstrap_servers, topic, fork_wait=20, replay="false")
    assert run(f"emit_in_child({RUNS[0]!r})", environ, FORKS).code == 0
    assert run_states(servers, topic) == {(RUNS[0], "START")}


def test_a_worker_that_forks_a_task_process_for_each_task(servers: Servers, topic: str, spool_dir: Path) -> None:
    # As Celery's: the worker lives on, its task processes fork the children that emit.
    program = f"""
    def task(run_id):
        emit_in_child(run_id, "START")
        emit_in_child(run_id, "COMPLETE")

    tasks = [in_child(task, run_id) for run_id in {RUNS[:4]}]
    for child in tasks: os.waitpid(child, 0)
    print("ready", flush=True)
    sys.stdin.read()
    """
    environ = provider(spool_dir, servers.kafka_bootstrap_servers, topic, sender_lifetime=60)
    command = [sys.executable, "-c", FORKS + "if True:\n" + program]
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        expected = {(run_id, kind) for run_id in RUNS[:4] for kind in ("START", "COMPLETE")}
        has_arrived = eventually(lambda: run_states(servers, topic) == expected, 60)
        assert worker.poll() is None
        worker.communicate()
    assert has_arrived
    assert eventually(lambda: not has_sender(spool_dir, topic), 60)


def test_a_pod_whose_disk_is_deleted_at_its_end(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = f"""
    emit_in_child({RUNS[0]!r}, "START")
    emit_in_child({RUNS[0]!r}, "COMPLETE")
    emit({RUNS[1]!r})
    os._exit(0)
    """
    ended = run(program, provider(spool_dir, servers.kafka_bootstrap_servers, topic, fork_wait=20), FORKS)
    shutil.rmtree(spool_dir)
    assert (ended.code, ended.errors) == (0, "")
    assert run_states(servers, topic) == {(RUNS[0], "START"), (RUNS[0], "COMPLETE"), (RUNS[1], "START")}


def test_children_without_kafka_leave_their_events_to_a_process_that_lives(
    proxy: FaultyProxy, servers: Servers, topic: str, spool_dir: Path
) -> None:
    proxy.mode = "refuse"
    program = f"for run_id in {RUNS[:4]}: emit_in_child(run_id)"
    ended = run(program, provider(spool_dir, proxy.address, topic, fork_wait=0.2, sender_lifetime=120), FORKS)
    assert ended.code == 0
    assert has_sender(spool_dir, topic)
    assert len(segments(spool_dir, PENDING)) == 4
    proxy.mode = "pass"
    # Nobody emits any more.
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 4, 60)) == set(RUNS[:4])
    assert eventually(lambda: not has_sender(spool_dir, topic), 60)
    assert segments(spool_dir, PENDING) == []


def test_children_do_not_wait_while_that_process_waits_for_kafka(spool_dir: Path) -> None:
    config = HeadwaterConfig(NOBODY, "t", spool_dir=str(spool_dir))
    environ = provider(spool_dir, NOBODY, "t", fork_wait=0.2, sender_lifetime=60)
    assert run(f"emit_in_child({RUNS[0]!r})", environ, FORKS).code == 0
    assert eventually(lambda: spool_sender.waits_for_kafka(config))
    # Within the longest allowed wait, which would outlast the test.
    assert run(f"emit_in_child({RUNS[1]!r})", environ | {"HEADWATER_EMITTER_FORK_WAIT": "86400"}, FORKS).code == 0
    assert len(segments(spool_dir, PENDING)) == 2
    (sender,) = senders_of(spool_dir)
    os.kill(sender, 15)
    assert eventually(lambda: not has_sender(spool_dir, "t"))
    assert spooled_run_ids(spool_dir) == RUNS[:2]


def senders_of(spool_dir: Path) -> list[int]:
    """Return the ids of the processes that have the lock of a spool open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            opened = [link.readlink() for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if any(path.parent == spool_dir and path.suffix == ".sender" for path in opened):
            found.append(int(process.name))
    return found


def test_that_process_shows_no_settings_and_holds_no_file_of_its_host(spool_dir: Path) -> None:
    secret = '{"sasl.mechanism": "PLAIN", "security.protocol": "SASL_PLAINTEXT", "sasl.username": "u", "sasl.password": "hush"}'
    environ = provider(spool_dir, NOBODY, "t", fork_wait=0, sender_lifetime=60)
    assert "HEADWATER_EMITTER_KAFKA" not in environ
    program = f"os.environ['HEADWATER_EMITTER_KAFKA'] = {secret!r}; emit_in_child({RUNS[0]!r})"
    # ``run`` returns although the process lives: it has not inherited the output of its host.
    assert run(program, environ, FORKS).code == 0
    (sender,) = senders_of(spool_dir)
    assert "hush" not in Path(f"/proc/{sender}/cmdline").read_text()
    assert os.getsid(sender) == sender
    os.kill(sender, 15)
    assert eventually(lambda: not has_sender(spool_dir, "t"))


def test_that_process_ends_after_its_lifetime(spool_dir: Path) -> None:
    environ = provider(spool_dir, NOBODY, "t", fork_wait=0, sender_lifetime=1)
    assert run(f"emit_in_child({RUNS[0]!r})", environ, FORKS).code == 0
    assert eventually(lambda: not has_sender(spool_dir, "t"), 60)
    assert spooled_run_ids(spool_dir) == RUNS[:1]


def test_events_of_a_killed_child_are_sent_because_of_the_next_one(
    servers: Servers, topic: str, spool_dir: Path
) -> None:
    environ = provider(spool_dir, servers.kafka_bootstrap_servers, topic, fork_wait=20, sender_lifetime=60)
    spool = Spool(spool_dir, topic, 1_000_000)
    spool.append(Message(RUNS[7].encode(), b'{"run": {"runId": "%s"}}' % RUNS[7].encode()))
    spool.close()
    (left,) = segments(spool_dir, PENDING)
    left = left.rename(left.with_name("00000000000000000001-1-00.spool"))
    os.utime(left, (0, 0))
    assert run(f"emit_in_child({RUNS[0]!r})", environ, FORKS).code == 0
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 2, 60)) == {RUNS[0], RUNS[7]}
    assert eventually(lambda: not has_sender(spool_dir, topic), 60)


def test_os_exit_without_a_fork_is_an_exit(servers: Servers, topic: str, spool_dir: Path) -> None:
    environ = environment(spool_dir, servers.kafka_bootstrap_servers, topic, close_timeout=20)
    ended = run("for n in range(50): transport.emit(event(f'r{n}'))\nos._exit(3)", environ)
    assert (ended.code, ended.errors) == (3, "")
    assert len(run_ids(arrived(servers.kafka_bootstrap_servers, topic, 50, 1.0))) == 50


def test_os_exit_without_kafka_leaves_every_event_on_disk(spool_dir: Path) -> None:
    ended = run("for n in range(50): transport.emit(event(f'r{n}'))\nos._exit(3)", environment(spool_dir, NOBODY, "t"))
    assert (ended.code, len(spooled_run_ids(spool_dir))) == (3, 50)


def test_a_process_that_never_emits_sends_what_others_left(servers: Servers, topic: str, spool_dir: Path) -> None:
    assert run("transport.emit(event('left'))", environment(spool_dir, NOBODY, topic, close_timeout=3)).code == 0
    assert spooled_run_ids(spool_dir) == ["left"]
    with start("time.sleep(600)", environment(spool_dir, servers.kafka_bootstrap_servers, topic)) as living:
        found = run_ids(arrived(servers.kafka_bootstrap_servers, topic, 1, 60))
        living.kill()
    assert found == {"left"}


def test_a_child_sends_its_own_events_first(tmp_path: Path) -> None:
    for name in ("00000000000000000001-1-00", f"00000000000000000002-{os.getpid()}-00"):
        spool = Spool(tmp_path, "t", 1_000_000)
        spool.append(Message(None, b"x"))
        spool.close()
        (written,) = [path for path in segments(tmp_path, PENDING) if not path.name.startswith("0000000000000000000")]
        written.rename(tmp_path / f"{name}.spool")
    claimed = Spool(tmp_path, "t", 1_000_000).claim()
    assert claimed is not None
    assert str(os.getpid()) in claimed.path.name
    claimed.release()


@pytest.mark.parametrize("configured", [True, False])
def test_emit_in_a_child_does_not_wait(configured: bool, spool_dir: Path) -> None:
    program = """
    child = os.fork()
    if child == 0:
        transport.emit(event("child"))
        print("emitted", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    print(os.waitpid(child, 0)[1])
    """
    ended = run(program, environment(spool_dir, NOBODY if configured else "", "t", fork_wait=86_400))
    assert ended.output == "emitted\n9\n"
    assert spooled_run_ids(spool_dir) == ["child"]


def test_without_addresses_a_child_does_not_wait(spool_dir: Path) -> None:
    program = "if os.fork() == 0:\n    transport.emit(event('child'))\n    os._exit(0)\nos.wait()"
    assert run(program, environment(spool_dir, "", "t", fork_wait=86_400), HEAD).code == 0
    assert spooled_run_ids(spool_dir) == ["child"]


def test_a_transport_with_an_empty_spool_starts_no_thread(make_transport: MakeTransport) -> None:
    import threading

    before = threading.active_count()
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker)
    assert threading.active_count() == before
    transport.emit(run_event("r"))
    assert transport.close(5)


# A child inherits the locks that other threads hold at its fork, here that of the C library's address lookup: most of these
# children can never connect.
CHILDREN = """
import multiprocessing, socket

def look_up():
    while True:
        socket.getaddrinfo("localhost", 1, flags=socket.AI_ADDRCONFIG)

for _ in range(3):
    threading.Thread(target=look_up, daemon=True).start()

def work(run_id, seconds):
    transport.emit(event(run_id))
    emitted.put(run_id)
    time.sleep(seconds)

def children(seconds):
    started = [context.Process(target=work, args=(f"child{n}", seconds)) for n in range(8)]
    for child in started:
        child.start()
    for _ in started:
        emitted.get()
    return started

context = multiprocessing.get_context("fork")
emitted = context.SimpleQueue()
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("for child in children(300): child.terminate()", id="terminated"),
        pytest.param("for child in children(0): child.join()", id="ending"),
    ],
)
def test_children_that_cannot_connect_and_end(program: str, servers: Servers, topic: str, spool_dir: Path) -> None:
    environ = environment(spool_dir, servers.kafka_bootstrap_servers, topic, close_timeout=1.0, sender_lifetime=60)
    ended = run(program, environ, HEAD + CHILDREN)
    assert ended.code == 0, ended.errors
    messages = arrived(servers.kafka_bootstrap_servers, topic, 8, seconds=60)
    assert run_ids(messages) == {f"child{n}" for n in range(8)}


def test_children_that_cannot_connect_and_continue(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = """
    started = children(300)
    sys.stdin.readline()
    for child in started:
        child.kill()
    """
    environ = environment(spool_dir, servers.kafka_bootstrap_servers, topic, spool_after=1.0, sender_lifetime=60)
    with start(program, environ, HEAD + CHILDREN) as process:
        messages = arrived(servers.kafka_bootstrap_servers, topic, 8, seconds=60)
        process.communicate("\n")
    assert run_ids(messages) == {f"child{n}" for n in range(8)}
