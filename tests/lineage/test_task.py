"""`@lineage.task`: a call is a run, whatever kind of function it is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Generator, Iterator

import pytest

from headwater import lineage

from .conftest import RecordingTransport


def name_of_current() -> str | None:
    run = lineage.current()
    return run.reference.name if run else None


@lineage.task
def double(n: int) -> int:
    """Twice n."""
    run = lineage.current()
    assert run is not None
    run.reads("ns", f"d{n}")
    return 2 * n


@lineage.task(namespace="shop", name="count")
def count(to: int) -> Iterator[int]:
    for n in range(to):
        assert name_of_current() == "count"
        yield n


@lineage.task(name="coroutine")
async def coroutine(n: int) -> str | None:
    await asyncio.sleep(0)
    if n < 0:
        raise ValueError(n)
    return name_of_current()


@lineage.task(name="stream")
async def stream(to: int) -> AsyncIterator[int]:
    for n in range(to):
        await asyncio.sleep(0)
        assert name_of_current() == "stream"
        yield n


@lineage.task(name="echo")
def echo() -> Generator[object, object, str]:
    received: list[object] = []
    try:
        while True:
            try:
                received.append((yield len(received)))
            except KeyError as fault:
                received.append(f"caught {fault.args[0]}")
    finally:
        received.append("closed")


def test_a_function(transport: RecordingTransport) -> None:
    assert double(3) == 6
    assert double.__doc__ == "Twice n."
    assert transport.events_of_runs() == [("START", f"{__name__}.double"), ("COMPLETE", f"{__name__}.double")]
    assert transport.events[1]["inputs"][0]["name"] == "d3"
    assert transport.events[0]["job"]["namespace"] == "default"


def test_each_call_is_a_run_of_its_own(transport: RecordingTransport) -> None:
    double(1)
    double(2)
    assert len({event["run"]["runId"] for event in transport.events}) == 2
    assert [len(event["inputs"]) for event in transport.events] == [0, 1, 0, 1]


def test_a_generator_runs_from_its_first_step_to_its_last(transport: RecordingTransport) -> None:
    numbers = count(2)
    assert inspect.isgenerator(numbers)
    assert transport.events == []
    for _ in numbers:
        # The consumer's code is not a part of the run.
        assert name_of_current() is None
    assert transport.events_of_runs() == [("START", "count"), ("COMPLETE", "count")]
    assert transport.events[0]["job"]["namespace"] == "shop"


def test_a_generator_that_is_left_early(transport: RecordingTransport) -> None:
    numbers = count(9)
    next(numbers)
    assert isinstance(numbers, Generator)
    numbers.close()
    assert transport.events_of_runs() == [("START", "count"), ("COMPLETE", "count")]


def test_a_generator_receives_sent_values_and_exceptions(transport: RecordingTransport) -> None:
    talk = echo()
    assert [next(talk), talk.send("a"), talk.throw(KeyError("k")), talk.send("b")] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="end"):
        talk.throw(ValueError("end"))
    assert transport.events_of_runs() == [("START", "echo"), ("FAIL", "echo")]


def test_a_generators_return_value(transport: RecordingTransport) -> None:
    @lineage.task
    def three() -> Generator[int, None, str]:
        yield 1
        return "done"

    def outer() -> Generator[int, None, str]:
        return (yield from three())

    steps = outer()
    next(steps)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "done"


def test_a_coroutine(transport: RecordingTransport) -> None:
    assert inspect.iscoroutinefunction(coroutine)
    assert asyncio.run(coroutine(1)) == "coroutine"
    with pytest.raises(ValueError, match="-1"):
        asyncio.run(coroutine(-1))
    assert [event_type for event_type, _ in transport.events_of_runs()] == ["START", "COMPLETE", "START", "FAIL"]


def test_a_cancelled_coroutine_is_aborted(transport: RecordingTransport) -> None:
    @lineage.task(name="slow")
    async def slow() -> None:
        await asyncio.sleep(10)

    async def cancel() -> None:
        running = asyncio.create_task(slow())
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    assert transport.events_of_runs() == [("START", "slow"), ("ABORT", "slow")]


def test_an_asynchronous_generator(transport: RecordingTransport) -> None:
    async def consume() -> list[int]:
        found = []
        async for n in stream(2):
            assert name_of_current() is None
            found.append(n)
        return found

    assert asyncio.run(consume()) == [0, 1]
    assert transport.events_of_runs() == [("START", "stream"), ("COMPLETE", "stream")]


def test_the_namespace_comes_from_the_environment(
    transport: RecordingTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "team")
    double(1)
    assert transport.events[0]["job"]["namespace"] == "team"
