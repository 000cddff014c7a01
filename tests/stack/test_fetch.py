"""Jars come verified, in parallel, once, and every fault on the way is one clear line."""

from __future__ import annotations

import io
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_stack.fetch import cache_folder, fetch, fetch_jars
from headwater_stack.lock import Jar
from headwater_stack.progress import SILENT, Lines, Terminal

from .repository import Repository, make_jar, serving

BIG = bytes(range(256)) * 4096


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    with serving() as repository:
        monkeypatch.setenv("HEADWATER_MAVEN_REPOSITORY", repository.address)
        # A proxy of the machine has no say on the loopback address.
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield repository


def part_of(jar: Jar, cache: Path) -> Path:
    path = cache / f"{jar.cache_path}.part"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_jars_come_in_the_order_of_the_lock_with_the_bytes_of_the_lock(repository: Repository, tmp_path: Path) -> None:
    jars = [repository.publish(f"jar{number}", b"x" * number) for number in range(1, 20)]
    paths = fetch_jars(jars, tmp_path, SILENT)
    assert [path.name for path in paths] == [f"jar{number}-1.0.jar" for number in range(1, 20)]
    assert [path.read_bytes() for path in paths] == [b"x" * number for number in range(1, 20)]
    assert not list(tmp_path.rglob("*.part"))


def test_existing_files_are_not_requested_again(repository: Repository, tmp_path: Path) -> None:
    jar = repository.publish("jar", BIG)
    assert fetch_jars([jar], tmp_path, SILENT) == fetch_jars([jar], tmp_path, SILENT)
    assert len(repository.requests) == 1


def test_two_fetches_at_once_download_once(repository: Repository, tmp_path: Path) -> None:
    jars = [repository.publish(f"jar{number}", BIG) for number in range(4)]
    threads = [threading.Thread(target=fetch_jars, args=(jars, tmp_path, SILENT)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(repository.requests) == 4


def test_a_download_continues_where_an_earlier_one_ended(repository: Repository, tmp_path: Path) -> None:
    jar = repository.publish("jar", BIG)
    part_of(jar, tmp_path).write_bytes(BIG[:1000])
    (path,) = fetch_jars([jar], tmp_path, SILENT)
    assert path.read_bytes() == BIG
    assert [wanted for _, wanted in repository.requests] == ["bytes=1000-"]


def test_an_answer_that_breaks_off_is_taken_up_again(repository: Repository, tmp_path: Path) -> None:
    jar = repository.publish("jar", BIG)
    repository.cut[f"/{jar.repository_path}"] = [300_000, 100_000]
    (path,) = fetch_jars([jar], tmp_path, SILENT)
    assert path.read_bytes() == BIG
    assert len(repository.requests) == 3
    assert repository.requests[-1][1] is not None


def test_a_repository_without_ranges_is_read_from_the_beginning(repository: Repository, tmp_path: Path) -> None:
    repository.ranges = False
    jar = repository.publish("jar", BIG)
    part_of(jar, tmp_path).write_bytes(b"old")
    assert fetch_jars([jar], tmp_path, SILENT)[0].read_bytes() == BIG


@pytest.mark.parametrize("length", [1000, len(BIG), len(BIG) + 5])
def test_a_damaged_part_is_thrown_away(repository: Repository, tmp_path: Path, length: int) -> None:
    jar = repository.publish("jar", BIG)
    part_of(jar, tmp_path).write_bytes(b"?" * length)
    assert fetch_jars([jar], tmp_path, SILENT)[0].read_bytes() == BIG


def test_bytes_that_differ_from_the_lock_are_refused_and_not_stored(repository: Repository, tmp_path: Path) -> None:
    jar = repository.publish("jar", BIG)
    repository.files[f"/{jar.repository_path}"] = b"!" * len(BIG)
    with pytest.raises(ServerUnavailable, match=r"jar-1\.0\.jar: its bytes are not those of the lock") as refused:
        fetch_jars([jar], tmp_path, SILENT)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.rglob("*.jar*"))


def test_a_jar_that_the_repository_lacks_is_one_clear_line(repository: Repository, tmp_path: Path) -> None:
    line = r"^the Maven repository does not answer at 127.*jar-1\.0\.jar was refused with HTTP 404; set HEADWATER_MAVEN"
    with pytest.raises(ServerUnavailable, match=line):
        fetch_jars([make_jar("jar", b"x")], tmp_path, SILENT)


def test_no_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    monkeypatch.setenv("HEADWATER_MAVEN_REPOSITORY", f"http://127.0.0.1:{port}/maven")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(ServerUnavailable) as unavailable:
        fetch_jars([make_jar("jar", b"x")], tmp_path, SILENT)
    message = f"the Maven repository does not answer at 127.0.0.1:{port}: check the network"
    assert re.match(rf"^{message}[^\n]*HEADWATER_MAVEN_REPOSITORY to a mirror$", str(unavailable.value))


def test_an_address_that_is_none_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADWATER_MAVEN_REPOSITORY", "mirror")
    with pytest.raises(ServerUnavailable, match=r"^the Maven repository does not answer at mirror: "):
        fetch_jars([make_jar("jar", b"x")], tmp_path, SILENT)


def test_a_full_disk_is_one_clear_line(repository: Repository, tmp_path: Path) -> None:
    jar = repository.publish("jar", BIG)
    part_of(jar, tmp_path).symlink_to("/dev/full")
    with pytest.raises(ConfigError, match=r"^no space left on the disk of [^\n]*HEADWATER_CACHE$"):
        fetch_jars([jar], tmp_path, SILENT)


def test_plain_progress_prints_each_tenth_once(repository: Repository, tmp_path: Path) -> None:
    stream = io.StringIO()
    jar = repository.publish("jar", BIG * 4)
    fetch_jars([jar], tmp_path, Lines(stream))
    output = stream.getvalue().splitlines()
    assert output[0] == "downloading 1 files, 4.2 MB"
    assert output[-2] == "downloaded 4.2 MB of 4.2 MB"
    assert output[-1].startswith("downloaded and verified 1 files in ")
    assert len(set(output)) == len(output) <= 12


def test_terminal_progress_leaves_one_line(repository: Repository, tmp_path: Path) -> None:
    stream = io.StringIO()
    fetch_jars([repository.publish("jar", BIG)], tmp_path, Terminal(stream))
    assert stream.getvalue().split("\n")[-2].endswith("downloaded and verified 1 files, 1.0 MB")


def test_an_unknown_group_is_reported_with_the_known_groups() -> None:
    with pytest.raises(ConfigError, match=r"no such group of jars: oracle; there are kafka, neo4j, spark-kafka"):
        fetch(["kafka", "oracle"])


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADWATER_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("HEADWATER_CACHE")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_folder() == Path("/home/someone/.cache/headwater")
