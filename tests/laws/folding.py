"""The fold of a job's runs and JobEvents into versions (specification 4, 10.5): simple and slow.

Part of the second implementation of the specification (`model.py`). It uses only the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .datasets import identifier
from .records import Moment, Step
from .wire import Key


@dataclass(slots=True)
class JobVersion:
    """4.1: made by `step`; `members` are the steps that belong to it, in order.

    10.5: a `retained` one has at least the `number` that it had; `removed` of its runs were removed, the last at `last`.
    """

    step: Step
    inputs: frozenset[Key]
    outputs: frozenset[Key]
    code: str | None
    unknown: bool
    members: list[Step] = field(default_factory=list)
    first_code: str | None = None
    retained: bool = False
    number: int = 0
    removed: int = 0
    last: Moment | None = None

    @property
    def id(self) -> str:
        return identifier(*self.step.identity)

    @property
    def runs(self) -> list[str]:
        """4.4: a JobEvent is not counted among the runs."""
        return [step.run for step in self.members if step.run is not None]

    @property
    def last_run(self) -> str | None:
        """6.2: the last of its runs by moment, including removed ones."""
        there = [step.moment for step in self.members if step.run is not None]
        return max([*there, *([self.last] if self.last else [])], default=(0, None))[1]


def fold(steps: list[Step], retained: Iterable[JobVersion] = ()) -> list[JobVersion]:
    """4: the versions that the steps of one job make; 10.5: a retained one starts the fold anew."""
    versions: list[JobVersion] = []
    waiting = sorted(retained, key=lambda version: version.step.moment)
    for step in steps:
        while waiting and waiting[0].step.moment < step.moment:
            versions.append(waiting.pop(0))
        made = successor(versions[-1] if versions else None, step)
        if made is not None:
            versions.append(replace(made, first_code=made.code))
        current = versions[-1]
        current.code = current.code or step.code
        current.members.append(step)
    return number([*versions, *waiting])


def number(versions: list[JobVersion]) -> list[JobVersion]:
    """4.1: numbers follow the order of the fold; 10.5: a retained one has at least its own."""
    last = 0
    for version in versions:
        last = version.number = max(last + 1, version.number if version.retained else 0)
    return versions


def successor(cur: JobVersion | None, step: Step) -> JobVersion | None:
    """4: the table, row by row; None where the step belongs to `cur`."""
    if cur is None:
        return JobVersion(step, step.inputs, step.outputs, step.code, unknown=not step.knows)
    inputs, outputs = sides(cur, step)
    same = (inputs, outputs) == (cur.inputs, cur.outputs)
    recoded = step.code is not None and cur.code is not None and step.code != cur.code
    if step.knows and not same:
        return JobVersion(step, inputs, outputs, step.code or cur.code, unknown=False)
    if step.knows and not cur.unknown and recoded:
        return JobVersion(step, inputs, outputs, step.code, unknown=False)
    if not step.knows and recoded:
        return JobVersion(step, cur.inputs, cur.outputs, step.code, unknown=True)
    if step.knows and cur.unknown:
        return JobVersion(step, inputs, outputs, step.code or cur.code, unknown=False)
    return None


def sides(cur: JobVersion, step: Step) -> tuple[frozenset[Key], frozenset[Key]]:
    """3.2: an empty side of a failed run is unknown, hence that of `cur`."""
    if not step.failed:
        return (step.inputs, step.outputs)
    return (step.inputs or cur.inputs, step.outputs or cur.outputs)
