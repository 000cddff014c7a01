"""The facets that `strategies` puts on its events: each a pure function of a few choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Json = dict[str, Any]
Key = tuple[str, str]

# "!" sorts before the quote that ends a JSON string: pairs and their JSON texts sort differently.
JOBS: tuple[Key, ...] = (("j", "a"), ("j", "b"), ("j!", "a"))
DATASETS: tuple[Key, ...] = (("d", "x"), ("d", "y"), ("d!", "x"), ("d", "é"))
ALIASES: tuple[Key, ...] = (*DATASETS, ("alias", "x"))
RUNS = ("r1", "r2", "r3", "r4", "r\ufffd")
FIELDS = ("a", "b", "c")
DELETED: tuple[Json, ...] = ({"_deleted": True}, {"_deleted": True, "z": 1}, {"_deleted": "true"}, {"_deleted": 1})
BROKEN: tuple[Any, ...] = (5, "text", [], {}, [None], {"fields": 1, "entries": {}, "run": "r1"}, False)


class Dice:
    """Choices read from bytes, one byte each; without further bytes every choice is the first."""

    __slots__ = ("_at", "_bytes")

    def __init__(self, chosen: bytes) -> None:
        self._bytes = chosen
        self._at = 0

    def pick(self, sides: int) -> int:
        """A number from 0 to `sides` - 1."""
        byte = self._bytes[self._at] if self._at < len(self._bytes) else 0
        self._at += 1
        return byte % sides

    def choose(self, options: Sequence[T]) -> T:
        return options[self.pick(len(options))]


def note(dice: Dice) -> Any:
    """A facet without a rule of its own: it is merged, deleted and printed."""
    return dice.choose(
        (
            {"text": "a"},
            {"text": "b"},
            {"n": 1},
            {"n": 1.0},
            *DELETED,
            {"n": -0.0, "é": [None, {"x": None}, 10**300]},
            {"n": 12345678901234567890},
            "text",
            None,
        )
    )


def statistics(dice: Dice) -> Any:
    return dice.choose(({"rowCount": 1}, {"rowCount": 2}, {"_deleted": True}, {"size": dice.choose((0.1, 1e300))}))


def job_type(dice: Dice) -> Any:
    snapshot = {"eventContentMode": "COMPLETE_SNAPSHOT"}
    return dice.choose(
        (
            {"processingType": "STREAMING"},
            {"processingType": "STREAMING", "emissionPattern": snapshot},
            {"processingType": "BATCH", "emissionPattern": snapshot},
            {"processingType": "BATCH"},
            {"processingType": "SERVICE", "emissionPattern": {"eventContentMode": "ACCUMULATIVE"}},
            {"_deleted": True, "processingType": "STREAMING"},
            {"processingType": ["STREAMING"], "emissionPattern": "COMPLETE_SNAPSHOT"},
        )
    )


def source_code_location(dice: Dice) -> Any:
    return dice.choose(
        (
            {"version": "1"},
            {"version": "2"},
            {"version": "1"},
            {"version": "2"},
            {"version": "", "tag": "1"},
            None,
            {"tag": "2", "version": 2},
            {"url": "git://1", "branch": "main"},
            {"_deleted": True, "version": "3"},
        )
    )


def source_code(dice: Dice) -> Any:
    return dice.choose(
        ({"sourceCode": "1"}, None, None, {"sourceCode": "2"}, None, {"sourceCode": ""}, {"_deleted": True})
    )


def dataset_version(dice: Dice) -> Any:
    return {"datasetVersion": dice.choose(("1", "2", "1", "", "1", 4))} if dice.pick(8) != 7 else DELETED[0]


def schema(dice: Dice) -> Any:
    plain, nested = {"name": "a", "type": "int"}, {"name": "b", "fields": [{"name": "c", "type": "int"}]}
    malformed = {
        "fields": [{"name": ""}, {"type": "int"}, "a", None, {"name": "a", "type": ""}, {"name": "b\n"}, plain]
    }
    return dice.choose(
        (
            {"fields": [plain]},
            {"fields": [nested, plain]},
            {"fields": []},
            malformed,
            {},
            {"_deleted": True, "fields": [plain]},
        )
    )


def lifecycle(dice: Dice) -> Any:
    changes = ({"lifecycleStateChange": "DROP"}, {"lifecycleStateChange": "CREATE"})
    return dice.choose((*changes, {**changes[0], "_deleted": True}, {"lifecycleStateChange": ["DROP"]}))


def symlinks(dice: Dice) -> Any:
    listed: list[Any] = [entity(dice.choose(ALIASES), type="TABLE") for _ in range(1 + dice.pick(2))]
    malformed = dice.choose((None, {"namespace": "d"}, "x", {"namespace": "", "name": "x"}))
    return {"identifiers": [*listed, malformed], **({"_deleted": True} if dice.pick(8) == 7 else {})}


def parent(dice: Dice) -> Any:
    """A parent's run, its job, both, or neither valid; perhaps with a `root`, which is not read."""
    run: tuple[Any, ...] = ("r1", "r2", "p", "", "p\n", 5)
    jobs: tuple[Any, ...] = (*(entity(key) for key in JOBS), entity(("p", "p")), {"namespace": "p"}, "p")
    made: Json = {}
    if dice.pick(4) != 3:
        made["run"] = {"runId": dice.choose(run)}
    if dice.pick(4) != 3:
        made["job"] = dice.choose(jobs)
    if dice.pick(4) == 3:
        made["root"] = {"run": {"runId": "root"}, "job": entity(("root", "root"))}
    return {**made, "_deleted": True} if dice.pick(8) == 7 else made


def entity(key: Key, **more: Any) -> Json:
    return {"namespace": key[0], "name": key[1], **more}


def transformation(dice: Dice) -> Any:
    return dice.choose(
        (
            {"type": "INDIRECT", "subtype": "FILTER"},
            {"type": "INDIRECT", "subtype": "JOIN", "masking": True},
            {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False},
            {"type": "DIRECT", "description": "upper", "masking": True},
            {"type": "INDIRECT", "description": 5, "masking": 1},
            {"type": 5, "subtype": []},
            {},
            "INDIRECT",
        )
    )


def influence(dice: Dice, **more: Any) -> Any:
    """One input field with no, one or two transformations, seldom a malformed one."""
    made = entity(dice.choose(DATASETS), field=dice.choose(FIELDS), **more)
    size = dice.pick(4)
    if size == 3:
        made["transformations"] = dice.choose(([], [None], 5, [5]))
    elif size:
        made["transformations"] = [transformation(dice) for _ in range(size)]
    return {**made, "field": dice.choose((None, "", 5, "*"))} if dice.pick(12) == 11 else made


def influences(dice: Dice) -> list[Any]:
    return [influence(dice) for _ in range(dice.choose((1, 2, 0)))]


def column_lineage(dice: Dice) -> Any:
    """Fields with their own inputs, in one of four layouts: own, the same for all, for `*`, and mixed."""
    layout = dice.pick(5)
    shared = influences(dice) if layout else []
    fields = FIELDS[: 1 + dice.pick(3)]
    made: Json = {}
    if layout != 2:
        made["fields"] = {
            name: {"inputFields": [*influences(dice), *(shared if layout != 3 else [])]} for name in fields
        }
    if layout in (2, 3, 4):
        made["dataset"] = shared
    odd = dice.pick(10)
    if odd == 9:
        made["fields"] = {"*": {"inputFields": shared}, "": {"inputFields": shared}, "a": 5, "b": {"inputFields": 5}}
    return {**made, "_deleted": True} if odd == 8 else made


def lineage(dice: Dice) -> Any:
    entries = [entry(dice) for _ in range(dice.choose((1, 2, 0)))]
    return {"entries": entries, **({"_deleted": True} if dice.pick(8) == 7 else {})}


def entry(dice: Dice) -> Any:
    """An entry for an output: inputs of its own, of its fields, with and without source fields."""
    output = dice.choose((*DATASETS, DATASETS[1], DATASETS[1]))
    made = entity(output, **dice.choose(({"type": "DATASET"}, {}, {"type": ""}, {"type": "JOB"})))
    if dice.pick(3):
        made["inputs"] = [source(dice) for _ in range(dice.pick(3))]
    if dice.pick(3) == 2:
        made["fields"] = {name: {"inputs": [source(dice)]} for name in FIELDS[: 1 + dice.pick(2)]}
    return made


def source(dice: Dice) -> Any:
    made = influence(dice, type=dice.choose(("DATASET", "DATASET", "", "JOB", None)))
    if dice.pick(3) == 0:
        made.pop("field", None)
    return made
