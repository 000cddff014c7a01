"""Which run a registered facet belongs to, without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.clientserver import ClientServer
from py4j.protocol import Py4JError

from headwater.spark import FacetRegistry, OpenLineageContext
from headwater.spark.extension.registry import MOST_WAITING, Registered


class Context:
    """A SparkContext with the job tags of one thread."""

    _jsc: Any = object()

    def __init__(self, has_pinned_threads: bool = True) -> None:
        self._gateway = ClientServer.__new__(ClientServer) if has_pinned_threads else None
        self.tags = {"mine", "headwater-facets-0-0"}

    def getJobTags(self) -> set[str]:
        return set(self.tags)

    def addJobTag(self, tag: str) -> None:
        if self._jsc is None:
            raise Py4JError("stopped")
        self.tags.add(tag)

    def removeJobTag(self, tag: str) -> None:
        self.tags.discard(tag)


@pytest.fixture
def spark() -> Iterator[Context]:
    context = Context()
    FacetRegistry.attach(OpenLineageContext(context), is_classic=True)
    yield context
    FacetRegistry.take_all()
    FacetRegistry.attach(OpenLineageContext(), is_classic=False)


def now() -> float:
    return time.time() * 1000 + 1


def test_a_run_has_what_its_thread_registered_before_its_start(spark: Context) -> None:
    FacetRegistry.register_run_facet("first", 1)
    FacetRegistry.register_job_facet("second", 2)
    run = Registered.of(",".join(sorted(spark.tags)))
    FacetRegistry.register_run_facet("later", 3)
    assert "mine" in spark.tags
    assert len(spark.tags) == 2
    assert FacetRegistry.take(now(), run.threads) == ({"first": 1}, {"second": 2})
    assert FacetRegistry.take(now(), run.threads) == ({}, {})
    assert FacetRegistry.take(now()) == ({}, {})
    assert FacetRegistry.take(now(), Registered.of(",".join(spark.tags)).threads) == ({"later": 3}, {})


def test_runs_of_two_threads_have_their_own_facets(spark: Context) -> None:
    tags: dict[str, str] = {}

    def call(name: str) -> None:
        FacetRegistry.register_run_facet(name, name)
        tags[name] = ",".join(spark.tags)

    for name in ("a", "b"):
        thread = threading.Thread(target=call, args=(name,))
        thread.start()
        thread.join()
    taken = {name: FacetRegistry.take(now(), Registered.of(tags[name]).threads)[0] for name in ("b", "a")}
    assert taken == {"b": {"b": "b"}, "a": {"a": "a"}}


def test_a_run_of_several_threads_has_the_facets_of_all(spark: Context) -> None:
    FacetRegistry.register_run_facet("one", 1)
    run = Registered.of(",".join(spark.tags))
    thread = threading.Thread(target=FacetRegistry.register_run_facet, args=("two", 2))
    thread.start()
    thread.join()
    run.add_tags(",".join(spark.tags))
    run.add_tags("")
    assert FacetRegistry.take(now(), run.threads) == ({"one": 1, "two": 2}, {})


@pytest.mark.parametrize("reason", ["connect", "shared threads", "stopped"])
def test_without_tags_the_time_decides(spark: Context, reason: str) -> None:
    if reason == "shared threads":
        spark = Context(has_pinned_threads=False)
    FacetRegistry.attach(OpenLineageContext(spark), is_classic=reason != "connect")
    spark._jsc = None if reason == "stopped" else spark._jsc
    FacetRegistry.register_run_facet("r", 1)
    assert not any(tag.startswith("headwater-facets-1") for tag in spark.tags)
    assert FacetRegistry.take(now() - 60_000) == ({}, {})
    assert FacetRegistry.take(now()) == ({"r": 1}, {})


def test_a_jvm_that_has_ended_does_not_fail_the_call(spark: Context) -> None:
    def ended(tag: str) -> None:
        raise Py4JError(tag)

    spark.addJobTag = ended  # type: ignore[method-assign]
    FacetRegistry.register_run_facet("r", 1)
    assert FacetRegistry.take(now()) == ({"r": 1}, {})


def test_what_no_run_had_is_left_for_the_application(spark: Context) -> None:
    FacetRegistry.register_run_facet("r", 1)
    assert FacetRegistry.take(now()) == ({}, {})
    assert FacetRegistry.take_all() == ({"r": 1}, {})
    assert FacetRegistry.take_all() == ({}, {})


def test_facets_of_a_thread_that_starts_no_run_are_limited(spark: Context) -> None:
    for number in range(MOST_WAITING + 1):
        FacetRegistry.register_run_facet(f"r{number}", number)
    run, _ = FacetRegistry.take_all()
    assert (len(run), "r0" in run, f"r{MOST_WAITING}" in run) == (MOST_WAITING, False, True)


@pytest.mark.parametrize("tags", ["", "mine", "headwater-facets-", "headwater-facets-x-1", "headwater-facets-1"])
def test_tags_of_others_name_no_thread(tags: str) -> None:
    assert Registered.of(tags).threads == {}
