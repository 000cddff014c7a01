"""Late events that change much: what is there before, and the late event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headwater_graph.rules.coalesce import MergedRow

from .packed_runs import dataset, run, side


@dataclass(frozen=True, slots=True)
class Shape:
    """``before`` and ``late`` make rows for a size: so many readers, runs or pairs."""

    name: str
    before: Callable[[int], Iterator[MergedRow]]
    late: Callable[[int], MergedRow]

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def _readers(size: int) -> Iterator[MergedRow]:
    return (run(f"r{at:06}", 10 + at, side("in"), {}) for at in range(size))


def _named_readers(size: int) -> Iterator[MergedRow]:
    named = {dataset("in"): {"version": b'{"datasetVersion":"7"}'}}
    return (run(f"r{at:06}", 10 + at, named, {}) for at in range(size))


def _same_version(size: int) -> Iterator[MergedRow]:
    return (run(f"r{at:06}", 10 + at, side("in"), side("out")) for at in range(size))


def _without_code(size: int) -> Iterator[MergedRow]:
    return (run(f"r{at:06}", 10 + at, side("in"), side("out"), code="2" if at else None) for at in range(size))


def _few_columns(size: int) -> Iterator[MergedRow]:
    yield run("r0", 10, side("in"), {dataset("out"): {"columnLineage": columns(1, 1)}})


def columns(fields: int, inputs: int) -> bytes:
    """A column lineage facet in which so many inputs feed each of so many fields directly."""
    sources = b",".join(b'{"namespace":"d","name":"in","field":"i%d"}' % at for at in range(inputs))
    listed = b",".join(b'"f%d":{"inputFields":[%b]}' % (at, sources) for at in range(fields))
    return b'{"fields":{%b}}' % listed


def _columns_of(size: int) -> MergedRow:
    inputs = min(300, max(1, size // 10))
    return run("late", 20, side("in"), {dataset("out"): {"columnLineage": columns(size // inputs, inputs)}})


SHAPES = (
    Shape(
        "a back-dated version of a dataset with many readers",
        _readers,
        lambda _: run("late", 1, {}, side("in"), job="maker"),
    ),
    Shape(
        "a back-dated version that many readers named",
        _named_readers,
        lambda _: run("late", 1, {}, {dataset("in"): {"version": b'{"datasetVersion":"7"}'}}, job="maker"),
    ),
    Shape(
        "a late run that splits a version of many runs",
        _same_version,
        lambda _: run("late", 11.5, side(), side("other")),
    ),
    Shape("a late run before a version of many runs", _same_version, lambda _: run("late", 1, side("in"), side("out"))),
    Shape(
        "a late run with the code of many runs",
        _without_code,
        lambda _: run("late", 10.5, side("in"), side("out"), code="1"),
    ),
    Shape("a column lineage of many pairs", _few_columns, _columns_of),
)
