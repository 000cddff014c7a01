"""Event sets that collide: few jobs, datasets, runs and moments, and everything that the specification has a rule about.

An example is a set of switched-on features and one short byte string per message; each byte decides one choice and
missing bytes choose the first, plainest option, so that examples are made fast and shrink to short, plain ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from . import facet_choices as facets
from .facet_choices import DATASETS, JOBS, RUNS, Dice, Key

T = TypeVar("T")
Json = dict[str, Any]

FEATURES = (
    "facets",
    "code",
    "versions",
    "columns",
    "lineage",
    "streaming",
    "parents",
    "aliases",
    "lifecycle",
    "jobEvents",
    "datasetEvents",
    "conflicts",
    "malformed",
    "rejected",
    "texts",
    "steady",
)
TYPES = ("COMPLETE", "START", "FAIL", "COMPLETE", "ABORT", "COMPLETE", "RUNNING", "FAIL", "OTHER", None, "complete", 5)
# Equal instants written differently, one that differs below the microsecond, and years apart.
TIMES = (
    "2026-01-01T00:00:01Z",
    "2026-01-01T00:00:02Z",
    "2026-01-01T00:00:03Z",
    "2026-01-01t00:00:02.0000009z",
    "2026-01-01 01:00:01.5+0100",
    "2026-01-01T00:00:01.500000",
    "2025-12-31T23:59:59.999999Z",
)
SIDES = (("inputs", "inputFacets"), ("outputs", "outputFacets"))
# What a job that seldom changes lists: the same again, a part of it, nothing; None: anything.
BOTH = ("inputs", "outputs")
STEADY: tuple[tuple[str, ...] | None, ...] = (BOTH, BOTH, (), BOTH, BOTH, (), ("outputs",), ("inputs",), None)
REJECTED = (
    b"",
    b"\xff",
    b"[]",
    b"{}",
    b'{"eventTime":"2026-01-01T00:00:01Z","run":{"runId":"r1"},"job":{"namespace":"j"}}',
    b'{"eventTime":"2026-01-01T00:00:60Z","run":{"runId":"r1"},"job":{"namespace":"j","name":"a"}}',
    b'{"eventTime":"2026-01-01T00:00:01Z","run":{"runId":""},"job":{"namespace":"j","name":"a"}}',
    b'{"eventTime":"2026-01-01T00:00:01Z","job":{"namespace":"j","name":"a"},"inputs":{}}',
    b'{"eventTime":"2026-01-01T00:00:01Z","job":{"namespace":"j","name":"a"},"x":NaN}',
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The switched-on features of one event set, and the choices of one message."""

    features: frozenset[str]
    dice: Dice

    def on(self, feature: str) -> bool:
        return feature in self.features

    def facets(self, *builders: tuple[str, str, Callable[[Dice], Any]]) -> Json:
        """Each facet whose feature is on and whose turn it is; malformed ones only where that is on."""
        made: Json = {}
        for feature, name, build in builders:
            if self.on(feature) and self.dice.pick(3):
                made[name] = build(self.dice)
                if self.on("malformed") and self.dice.pick(8) == 7:
                    made[name] = self.dice.choose(facets.BROKEN)
        return made


def event_sets(max_size: int = 16) -> st.SearchStrategy[list[bytes]]:
    """Lists of up to `max_size` raw JSON messages, most of them accepted, few of them equal."""
    message_choices = st.binary(min_size=24, max_size=120)
    few = st.lists(message_choices, min_size=1, max_size=max_size)
    many = st.lists(message_choices, min_size=min(10, max_size), max_size=max_size)
    return st.builds(build, st.integers(0, 2 ** len(FEATURES) - 1), few | many)


@st.composite
def deliveries(draw: st.DrawFn, messages: list[T]) -> list[list[T]]:
    """Every message at least once, in any order, some again, in batches (some of them empty)."""
    again = draw(st.lists(st.sampled_from(messages), max_size=4)) if messages else []
    order = draw(st.permutations([*messages, *again]))
    ends = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    return [order[start:end] for start, end in zip([0, *ends], [*ends, len(order)], strict=True)]


def build(switches: int, choices: list[bytes]) -> list[bytes]:
    """Return the event set of these switches and choices; a pure function."""
    features = frozenset(name for bit, name in enumerate(FEATURES) if switches >> bit & 1)
    return [message(Recipe(features, Dice(chosen))) for chosen in choices]


def message(recipe: Recipe) -> bytes:
    dice = recipe.dice
    kind = dice.pick(12)
    if kind == 11 and recipe.on("rejected"):
        return dice.choose(REJECTED)
    if kind in (9, 10) and recipe.on("datasetEvents"):
        return written(recipe, dataset_event(recipe))
    if kind in (7, 8) and recipe.on("jobEvents"):
        return written(recipe, job_event(recipe))
    return written(recipe, run_event(recipe))


def written(recipe: Recipe, event: Json) -> bytes:
    """The same event in one of several texts: nulls, equal keys, other order, white space, escapes, lone surrogates."""
    style = recipe.dice.pick(6) if recipe.on("texts") else 0
    if style == 1:
        event = {"producer": None, "inputs": None, **event, "outputs": [None, *event.get("outputs", [])]}
    text = json.dumps(event, ensure_ascii=style != 2)
    if style == 3:
        text = '{"eventTime":"never","run":[[]],' + text[1:] if "run" in event else '{"eventTime":{},' + text[1:]
    if style == 5:
        text = text.replace("\\ufffd", "\\ud800").replace("1e+300", "1e+400")
    if style == 4:
        text = "\ufeff " + json.dumps(dict(reversed(event.items())), indent=1)
    return text.encode()


def run_event(recipe: Recipe) -> Json:
    dice = recipe.dice
    run = dice.pick(len(RUNS))
    strayed = recipe.on("conflicts") and dice.pick(4) == 3
    event = timed(dice, "eventType", dice.choose(TYPES))
    event["run"] = with_facets({"runId": RUNS[run]}, run_facets(recipe))
    if recipe.on("malformed") and dice.pick(16) == 15:
        event["run"]["facets"] = dice.choose(facets.BROKEN)
    usual = 0 if recipe.on("steady") else run % 2
    event["job"] = with_facets(named(JOBS[dice.pick(len(JOBS)) if strayed else usual]), job_facets(recipe))
    return {**event, **sides(recipe)}


def job_event(recipe: Recipe) -> Json:
    own = job_facets(recipe)
    retired = recipe.dice.pick(6)
    if retired >= 4:
        own["headwater_retired"] = {} if retired == 5 else recipe.dice.choose(({"_deleted": True}, 1, {"_deleted": 1}))
    job = recipe.dice.choose(JOBS)
    return {
        **timed(recipe.dice, "eventType", recipe.dice.choose((None, "FAIL"))),
        "job": with_facets(named(job), own),
        **sides(recipe),
    }


def dataset_event(recipe: Recipe) -> Json:
    key = recipe.dice.choose((*DATASETS, DATASETS[0], DATASETS[0]))
    event = {**timed(recipe.dice, "producer", None), "dataset": with_facets(named(key), dataset_facets(recipe))}
    if recipe.on("malformed"):
        event["inputs"] = recipe.dice.choose(([], 5, [{}]))  # never read
    return event


def timed(dice: Dice, name: str, value: Any) -> Json:
    event: Json = {"eventTime": dice.choose(TIMES)}
    return event if value is None else {**event, name: value}


def named(key: Key) -> Json:
    return {"namespace": key[0], "name": key[1]}


def with_facets(entity: Json, made: Json, container: str = "facets") -> Json:
    return {**entity, container: made} if made else entity


def sides(recipe: Recipe) -> Json:
    """`inputs` and `outputs`, each absent, empty or a list, in which a dataset may be twice; or the usual ones."""
    made: Json = {}
    if recipe.on("steady"):
        usual = recipe.dice.choose(STEADY)
        if usual is not None:
            return {side: [listed(recipe, DATASETS[at], own)] for at, (side, own) in enumerate(SIDES) if side in usual}
    for side, own in SIDES:
        size = recipe.dice.choose((0, 1, 2, 1, 0, 3, 1))
        if size or recipe.dice.pick(2):
            made[side] = [listed(recipe, recipe.dice.choose(DATASETS), own) for _ in range(size)]
    return made


def listed(recipe: Recipe, key: Key, own: str) -> Json:
    item = with_facets(named(key), dataset_facets(recipe))
    counted = recipe.facets(("facets", "statistics", facets.statistics), ("facets", "note", facets.note))
    return with_facets(item, counted if recipe.dice.pick(3) == 2 else {}, own)


def run_facets(recipe: Recipe) -> Json:
    return recipe.facets(
        ("parents", "parent", facets.parent),
        ("parents", "parentRun", facets.parent),
        ("facets", "note", facets.note),
    )


def job_facets(recipe: Recipe) -> Json:
    return recipe.facets(
        ("streaming", "jobType", facets.job_type),
        ("code", "sourceCodeLocation", facets.source_code_location),
        ("code", "sourceCode", facets.source_code),
        ("lineage", "lineage", facets.lineage),
        ("facets", "note", facets.note),
    )


def dataset_facets(recipe: Recipe) -> Json:
    return recipe.facets(
        ("versions", "version", facets.dataset_version),
        ("versions", "schema", facets.schema),
        ("columns", "columnLineage", facets.column_lineage),
        ("aliases", "symlinks", facets.symlinks),
        ("lifecycle", "lifecycleStateChange", facets.lifecycle),
        ("facets", "note", facets.note),
    )
