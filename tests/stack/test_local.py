"""What `up`, `down` and `status` do, with servers that start at once."""

from __future__ import annotations

import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_stack.home import Running
from headwater_stack.local import Addresses, Stack
from headwater_stack.process import Process, is_alive, spawn, stop
from headwater_stack.progress import SILENT
from headwater_stack.server import Place

from .fake_server import DEAF, FAIL, NEVER_LISTEN, FakeServer, fake_stack

ANY_PORT: dict[str, int | None] = {}


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = fake_stack(tmp_path)
    yield stack
    stack.down(SILENT)


def up(stack: Stack, *, reset: bool = False, **ports: int | None) -> Addresses:
    return stack.up(ports, reset, SILENT, None)


def fakes(stack: Stack) -> tuple[FakeServer, FakeServer]:
    kafka, neo4j = stack.servers
    assert isinstance(kafka, FakeServer)
    assert isinstance(neo4j, FakeServer)
    return kafka, neo4j


def process_of(stack: Stack, name: str) -> Process:
    process = stack.home.read_state()[name].process
    assert process is not None
    return process


def kill(process: Process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    stop([process], 5)


def test_up_starts_both_servers_and_they_answer(stack: Stack) -> None:
    addresses = up(stack)
    assert stack.status().is_up
    assert stack.addresses() == addresses
    assert addresses.neo4j_uri == f"bolt://{stack.status().servers[1].address}"


def test_down_ends_the_processes_and_says_whether_any_ran(stack: Stack) -> None:
    up(stack)
    processes = [process_of(stack, "kafka"), process_of(stack, "neo4j")]
    assert stack.down(SILENT)
    assert not any(map(is_alive, processes))
    assert not stack.down(SILENT)
    assert stack.addresses() is None
    assert not stack.status().is_up


def test_down_of_a_home_that_never_was_makes_none(tmp_path: Path) -> None:
    assert not fake_stack(tmp_path / "nowhere").down(SILENT)
    assert not (tmp_path / "nowhere").exists()


def test_a_second_up_finds_the_first(stack: Stack) -> None:
    first, processes = up(stack), stack.home.read_state()
    assert up(stack) == first
    assert stack.home.read_state() == processes
    assert [len(fake.installs) for fake in fakes(stack)] == [1, 1]


def test_two_ups_at_once_start_one_stack(tmp_path: Path) -> None:
    stack = fake_stack(tmp_path, FakeServer("kafka", install_seconds=0.3))
    found: list[Addresses] = []
    threads = [threading.Thread(target=lambda: found.append(up(stack))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert len(found) == 3
        assert len(set(found)) == 1
        assert [len(fake.installs) for fake in fakes(stack)] == [1, 1]
    finally:
        stack.down(SILENT)


def test_after_kill_9_of_one_server_up_starts_just_that_one_where_it_was(stack: Stack) -> None:
    first, neo4j = up(stack), process_of(stack, "neo4j")
    killed = process_of(stack, "kafka")
    kill(killed)
    assert stack.addresses() is None
    assert [server.pid is None for server in stack.status().servers] == [True, False]
    assert up(stack) == first
    assert process_of(stack, "neo4j") == neo4j
    assert process_of(stack, "kafka") != killed


def test_a_server_that_ends_while_up_looks_on_is_started_again(tmp_path: Path) -> None:
    """As one that was killed a moment ago and whose process is not gone yet."""
    stack = fake_stack(tmp_path)
    up(stack)
    dying, neo4j = process_of(stack, "kafka"), fakes(stack)[1]

    @dataclass(frozen=True, slots=True)
    class Killing(FakeServer):
        def answers(self, place: Place) -> bool:
            if process_of(stack, "kafka") == dying:
                kill(dying)
            return FakeServer.answers(self, place)

    try:
        assert up(replace(stack, servers=(Killing("kafka"), neo4j)))
        assert process_of(stack, "kafka") != dying
        assert len(neo4j.installs) == 1
    finally:
        stack.down(SILENT)


def test_a_stale_process_number_that_now_belongs_to_another_program_is_not_touched(
    stack: Stack, tmp_path: Path
) -> None:
    up(stack)
    stack.down(SILENT)
    stranger = spawn([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "stranger.log", os.environ)
    try:
        before = Process(stranger.pid, "born at another time")
        state = stack.home.read_state()
        stack.home.write_state({**state, "kafka": Running(state["kafka"].ports, before)})
        assert stack.addresses() is None
        up(stack)
        assert process_of(stack, "kafka").pid != stranger.pid
        stack.down(SILENT)
        assert is_alive(stranger)
    finally:
        kill(stranger)


def test_ports_stay_over_down_and_up(stack: Stack) -> None:
    first = up(stack)
    stack.down(SILENT)
    assert up(stack) == first


def test_a_last_port_that_another_took_is_replaced(stack: Stack) -> None:
    first = up(stack)
    stack.down(SILENT)
    with socket.create_server(("127.0.0.1", stack.home.read_state()["kafka"].ports[0])):
        assert up(stack).kafka_bootstrap_servers != first.kafka_bootstrap_servers


def test_given_ports_are_taken(stack: Stack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    assert up(stack, kafka=port).kafka_bootstrap_servers == f"127.0.0.1:{port}"


def test_a_given_port_in_use_is_one_clear_line_and_leaves_nothing_running(stack: Stack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"^port {port} is in use .*--neo4j-port[^\n]*$"):
            up(stack, neo4j=port)
    assert not any(server.pid for server in stack.status().servers)


def test_asking_a_running_stack_for_another_port_is_refused(stack: Stack) -> None:
    port = int(up(stack).kafka_bootstrap_servers.rpartition(":")[2])
    assert up(stack, kafka=port)
    with pytest.raises(ConfigError, match=f"runs at port {port} already: `headwater down`"):
        up(stack, kafka=port + 1)
    assert stack.status().is_up


def test_a_failed_start_names_the_log_and_shows_its_last_error_and_stops_the_rest(tmp_path: Path) -> None:
    stack = fake_stack(tmp_path, neo4j=FakeServer("neo4j", FAIL))
    log = stack.home.log("neo4j")
    with pytest.raises(ServerUnavailable, match=rf"^Fake neo4j does not .*ERROR the store is locked.*{log}\)$"):
        up(stack)
    assert [server.pid for server in stack.status().servers] == [None, None]


def test_a_failed_start_leaves_the_server_that_ran_before(stack: Stack) -> None:
    up(stack)
    kafka = process_of(stack, "kafka")
    kill(process_of(stack, "neo4j"))
    broken = replace(stack, servers=(fakes(stack)[0], FakeServer("neo4j", FAIL)))
    with pytest.raises(ServerUnavailable):
        up(broken)
    assert is_alive(kafka)


def test_a_server_that_never_answers_is_given_up_with_its_last_line(tmp_path: Path) -> None:
    stack = replace(fake_stack(tmp_path, FakeServer("kafka", NEVER_LISTEN)), start_timeout=0.5)
    with pytest.raises(ServerUnavailable, match=r"does not respond after \d+ s: WARN still recovering \(log: "):
        up(stack)
    assert not any(server.pid for server in stack.status().servers)


def test_a_server_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    stack = replace(fake_stack(tmp_path, FakeServer("kafka", DEAF)), stop_patience=0.3)
    up(stack)
    deaf = process_of(stack, "kafka")
    assert stack.down(SILENT)
    assert not is_alive(deaf)


def test_reset_stops_the_servers_and_deletes_their_data_and_password(stack: Stack) -> None:
    password = up(stack).neo4j_password
    kafka = process_of(stack, "kafka")
    (stack.home.server("kafka") / "data").write_text("events")
    assert up(stack, reset=True).neo4j_password != password
    assert not is_alive(kafka)
    assert not (stack.home.server("kafka") / "data").exists()


def test_prepare_is_called_once_in_the_life_of_the_data(stack: Stack) -> None:
    called: list[Addresses] = []
    up(stack)
    for reset in (False, False, True):
        stack.up(ANY_PORT, reset, SILENT, called.append)
    assert len(called) == 2
    assert called[1] == stack.addresses()


def test_a_prepare_that_failed_is_called_again_by_the_next_up(stack: Stack) -> None:
    def fail(_: Addresses) -> None:
        raise ConfigError("no schema")

    called: list[Addresses] = []
    with pytest.raises(ConfigError, match="no schema"):
        stack.up(ANY_PORT, False, SILENT, fail)
    stack.up(ANY_PORT, False, SILENT, called.append)
    assert len(called) == 1


def test_the_password_is_its_owners_alone(stack: Stack) -> None:
    addresses = up(stack)
    assert stat.S_IMODE(addresses.neo4j_password_file.stat().st_mode) == 0o600
    assert addresses.neo4j_password_file.read_text() == addresses.neo4j_password
    assert addresses.neo4j_password not in repr(addresses)


def test_data_without_their_password_are_reported_and_reset_helps(stack: Stack) -> None:
    up(stack).neo4j_password_file.unlink()
    stack.down(SILENT)
    with pytest.raises(ConfigError, match=r"is missing, .*--reset"):
        up(stack)
    assert up(stack, reset=True)


def test_a_damaged_state_file_is_reported_and_reset_helps(stack: Stack) -> None:
    stack.home.folder.mkdir(parents=True)
    (stack.home.folder / "state.json").write_text("{")
    with pytest.raises(ConfigError, match=r"state\.json is damaged .*--reset"):
        up(stack)
    assert up(stack, reset=True)


def test_a_full_disk_is_one_clear_line(stack: Stack) -> None:
    stack.home.folder.mkdir(parents=True)
    # What is written to the state file's new text goes to a device that is always full.
    (stack.home.folder / f"state.json.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(ConfigError, match=r"^no space left on the disk of [^\n]*--home or HEADWATER_HOME$"):
        up(stack)


def test_a_home_that_can_not_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigError, match="can't be written: choose another place with --home"):
        up(fake_stack(tmp_path / "file"))


def test_the_earlier_log_remains(stack: Stack) -> None:
    up(stack)
    stack.home.log("kafka").write_text("first life")
    stack.down(SILENT)
    up(stack)
    assert stack.home.log("kafka").with_name("kafka.log.1").read_text() == "first life"
