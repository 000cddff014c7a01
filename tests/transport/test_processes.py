"""The emitter in real processes: exits, forks, kills and a full disk."""

from __future__ import annotations

import itertools
import signal
import time
from pathlib import Path

import pytest

from ..servers import Servers
from .events import arrived, run_ids, spooled_run_ids
from .programs import HEAD, environment, run, start
from .proxy import FaultyProxy

NOBODY = "127.0.0.1:1"


def test_a_program_need_not_close(servers: Servers, topic: str, spool_dir: Path) -> None:
    environ = environment(spool_dir, servers.kafka_bootstrap_servers, topic)
    ended = run("for n in range(50): transport.emit(event(f'r{n}'))", environ)
    assert (ended.code, ended.errors) == (0, "")
    assert len(run_ids(arrived(servers.kafka_bootstrap_servers, topic, 50))) == 50
    assert spooled_run_ids(spool_dir) == []


def test_the_exit_is_delayed_by_no_more_than_close_timeout(proxy: FaultyProxy, topic: str, spool_dir: Path) -> None:
    proxy.mode = "hang"
    program = """
    for n in range(50): transport.emit(event(f'r{n}'))
    begun = time.monotonic()
    """
    # Registered first, so it runs last.
    head = "import atexit\natexit.register(lambda: print(time.monotonic() - begun))\n" + HEAD
    ended = run(program, environment(spool_dir, proxy.address, topic, close_timeout=1.0), head)
    assert ended.code == 0
    assert 0.5 < float(ended.output) < 2.0
    assert len(spooled_run_ids(spool_dir)) == 50


def test_events_emitted_at_exit(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = """
    transport.emit(event("early"))
    """
    head = "import atexit\natexit.register(lambda: transport.emit(event('late')))\n" + HEAD
    ended = run(program, environment(spool_dir, servers.kafka_bootstrap_servers, topic), head)
    assert ended.code == 0
    # The emitter had closed before: the late event is on disk, and the next emitter sends it.
    assert spooled_run_ids(spool_dir) == ["late"]
    assert (
        run(
            "transport.emit(event('next')); time.sleep(1.5)",
            environment(spool_dir, servers.kafka_bootstrap_servers, topic),
        ).code
        == 0
    )
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 3)) == {"early", "late", "next"}
    assert spooled_run_ids(spool_dir) == []


def test_events_emitted_by_an_exit_function_registered_later(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = "import atexit; atexit.register(lambda: transport.emit(event('late')))"
    assert run(program, environment(spool_dir, servers.kafka_bootstrap_servers, topic)).code == 0
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 1)) == {"late"}


def test_a_transport_without_references_still_delivers_its_events(spool_dir: Path) -> None:
    program = """
    import gc
    HeadwaterTransport().emit(event("owed"))
    gc.collect()
    """
    assert run(program, environment(spool_dir, NOBODY, "t", close_timeout=1.0)).code == 0
    assert spooled_run_ids(spool_dir) == ["owed"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method: str, servers: Servers, topic: str, spool_dir: Path, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        HEAD
        + f"""
import multiprocessing

def work(n):
    transport.emit(event(f"child{{n}}"))

if __name__ == "__main__":
    transport.emit(event("parent"))
    transport.flush(10)
    context = multiprocessing.get_context({method!r})
    children = [context.Process(target=work, args=(n,)) for n in range(2)]
    for child in children: child.start()
    for child in children: child.join()
    print([child.exitcode for child in children])
"""
    )
    call = f"import subprocess, sys\nsys.exit(subprocess.call([sys.executable, {str(script)!r}]))\n"
    ended = run("", environment(spool_dir, servers.kafka_bootstrap_servers, topic), call)
    assert ended.output.strip() == "[0, 0]", ended.errors
    expected = {"parent", "child0", "child1"}
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 3)) == expected


def test_forked_child_that_ends_without_notice(servers: Servers, topic: str, spool_dir: Path) -> None:
    # As Airflow's listener does: fork, emit, os._exit.
    program = """
    transport.emit(event("parent"))
    transport.flush(10)
    child = os.fork()
    if child == 0:
        begun = time.perf_counter()
        transport.emit(event("child"))
        print(time.perf_counter() - begun, flush=True)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
    environ = environment(spool_dir, servers.kafka_bootstrap_servers, topic, replay_interval=60)
    ended = run(program, environ)
    seconds, status = ended.output.split()
    assert (float(seconds) < 2.0, status) == (True, "0"), ended.errors
    reached = run_ids(arrived(servers.kafka_bootstrap_servers, topic, 2, 1.0))
    assert reached | set(spooled_run_ids(spool_dir)) == {"parent", "child"}
    assert run("transport.emit(event('next')); time.sleep(1.5)", environ).code == 0
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 3)) == {"parent", "child", "next"}
    assert spooled_run_ids(spool_dir) == []


def test_forked_child_that_waits_for_the_delivery(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = """
    if os.fork() == 0:
        transport.emit(event("child"))
        os._exit(0)
    os.wait()
    os._exit(0)
    """
    environ = environment(spool_dir, servers.kafka_bootstrap_servers, topic, fork_wait=10)
    assert run(program, environ).code == 0
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 1)) == {"child"}
    assert spooled_run_ids(spool_dir) == []


def test_fork_while_the_thread_imports_the_kafka_client(spool_dir: Path, tmp_path: Path) -> None:
    # A slow module replaces the client, which is slow too on a cold disk.
    (tmp_path / "slow_import.py").write_text("import time; time.sleep(1.5); token = lambda _: None")
    program = """
    os.environ["HEADWATER_EMITTER_OAUTH_CALLBACK"] = "slow_import:token"
    transport = HeadwaterTransport()
    transport.emit(event("parent"))
    time.sleep(0.7)
    child = os.fork()
    if child == 0:
        transport.emit(event("child"))
        transport.close(20)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
    environ = environment(spool_dir, NOBODY, "t", close_timeout=0.5) | {"PYTHONPATH": str(tmp_path)}
    begun = time.monotonic()
    ended = run(program, environ)
    assert (ended.code, ended.output) == (0, "0\n"), ended.errors
    assert "does not respond" not in ended.errors
    assert "partially initialized" not in ended.errors
    assert time.monotonic() - begun < 50
    assert sorted(spooled_run_ids(spool_dir)) == ["child", "parent"]


def test_forks_while_threads_emit(servers: Servers, topic: str, spool_dir: Path) -> None:
    program = """
    stop = threading.Event()
    def busy(k):
        n = 0
        while not stop.is_set():
            transport.emit(event(f"p{k}-{n}")); n += 1; time.sleep(0.01)
    threads = [threading.Thread(target=busy, args=(k,)) for k in range(4)]
    for thread in threads: thread.start()
    codes = []
    for n in range(10):
        child = os.fork()
        if child == 0:
            transport.emit(event(f"c{n}"))
            transport.flush(10)
            os._exit(0)
        codes.append(os.waitpid(child, 0)[1])
    stop.set()
    for thread in threads: thread.join()
    print(transport.flush(20), set(codes), counters().emitted)
    """
    # A fork while the parent connects may leave the child without a connection: another process sends its events then.
    ended = run(program, environment(spool_dir, servers.kafka_bootstrap_servers, topic, sender_lifetime=60))
    flushed, codes, emitted = ended.output.split()
    assert (flushed, codes) == ("True", "{0}"), ended.errors
    reached = run_ids(arrived(servers.kafka_bootstrap_servers, topic, int(emitted) + 10, 60))
    assert len(reached) == int(emitted) + 10
    assert {f"c{n}" for n in range(10)} <= reached


def test_kill_leaves_whole_records(spool_dir: Path) -> None:
    program = """
    print("started", flush=True)
    n = 0
    while True:
        transport.emit(event(f"r{n}", producer="x" * 2000)); n += 1; time.sleep(0.0002)
    """
    environ = environment(spool_dir, "", "t")
    for seconds in (0.3, 0.7, 1.1):
        with start(program, environ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
            process.communicate()
    spooled = spooled_run_ids(spool_dir)
    assert len(spooled) > 100
    # The file of each process has its events in order and without a gap.
    assert all(b == "r0" or int(b[1:]) == int(a[1:]) + 1 for a, b in itertools.pairwise(spooled))


def test_full_disk(spool_dir: Path) -> None:
    # A limit on a file's size: a write beyond it is truncated or refused, as on a full disk.
    program = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    slowest = 0.0
    for n in range(200):
        begun = time.perf_counter(); transport.emit(event(f"r{n}")); slowest = max(slowest, time.perf_counter() - begun)
    transport.close()
    print(slowest < 2.0, counters().spooled, counters().dropped.get("spool_failed", 0))
    """
    ended = run(program, environment(spool_dir, "", "t"))
    quick, spooled, lost = ended.output.split()
    assert quick == "True", ended.errors
    assert int(spooled) + int(lost) == 200
    assert 20 < int(spooled) < 200
    assert len(spooled_run_ids(spool_dir)) == int(spooled)
    assert ended.errors.count("(spool_failed)") == 1


def test_spool_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    program = """
    for n in range(20): transport.emit(event(f"r{n}"))
    print(transport.close(), counters().dropped)
    """
    ended = run(program, environment(tmp_path / "file" / "spool", "", "t"))
    assert ended.output.strip() == "False {'spool_failed': 20}"
    assert ended.code == 0


def test_totals_are_logged_at_exit(spool_dir: Path) -> None:
    program = """
    import logging
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    transport.emit(event("r"))
    """
    errors = run(program, environment(spool_dir, "", "t")).errors
    assert "INFO lineage: Counters(emitted=1, delivered=0, spooled=1" in errors
