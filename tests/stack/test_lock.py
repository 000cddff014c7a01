"""The jar lock says which bytes are wanted, and nothing of where they are."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_stack.lock import Jar, format_lock, jars_of, parse_lock, shipped_lock

NAME = st.text("abz09._-", min_size=1, max_size=9)
SHA256 = st.integers(0, 2**256 - 1).map(lambda number: f"{number:064x}")
JARS = st.builds(Jar, NAME, NAME, NAME, st.just("") | NAME, st.integers(0, 10**10), SHA256)


@given(st.dictionaries(NAME, st.lists(JARS, max_size=5).map(tuple), max_size=4))
def test_a_lock_reads_back_as_it_was_written(lock: dict[str, tuple[Jar, ...]]) -> None:
    assert parse_lock(format_lock(lock, "head")) == lock


def test_the_shipped_lock_names_no_address() -> None:
    text = files("headwater_stack").joinpath("jars.lock").read_text()
    assert "/" not in re.sub(r"^#.*", "", text)


def test_every_jar_has_all_that_is_needed_to_fetch_and_verify_it() -> None:
    for jar in jars_of(shipped_lock()):
        assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256), jar
        assert jar.size > 0, jar
        assert "" not in (jar.group, jar.artifact, jar.version), jar


def test_the_servers_are_the_versions_that_were_chosen() -> None:
    versions = {(jar.artifact, jar.version) for jar in jars_of(["kafka", "neo4j"])}
    assert {("kafka_2.13", "4.3.1"), ("kafka-clients", "4.3.1"), ("neo4j", "2026.08.1")} <= versions


@pytest.mark.parametrize("group", shipped_lock())
def test_no_group_holds_two_versions_of_a_jar(group: str) -> None:
    names = [(jar.group, jar.artifact, jar.classifier) for jar in shipped_lock()[group]]
    assert len(names) == len(set(names))


def test_sparks_kafka_source_needs_exactly_these() -> None:
    assert [jar.file_name for jar in jars_of(["spark-kafka"])] == [
        "spark-sql-kafka-0-10_2.13-4.2.0.jar",
        "spark-token-provider-kafka-0-10_2.13-4.0.0.jar",
        "kafka-clients-3.9.2.jar",
        "commons-pool2-2.13.1.jar",
    ]


def test_a_jar_of_two_groups_is_listed_once() -> None:
    assert jars_of(["kafka", "kafka"]) == jars_of(["kafka"])


def test_paths_follow_the_layout_of_maven() -> None:
    jar = Jar("io.netty", "netty-transport", "4.2", "linux-x86_64", 1, "0" * 64)
    assert jar.repository_path == "io/netty/netty-transport/4.2/netty-transport-4.2-linux-x86_64.jar"
    assert jar.cache_path == "io.netty/netty-transport-4.2-linux-x86_64.jar"
