"""Schedules of faults: a seed determines the messages, their order, and which fault happens after which of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ..golden.cases import all_cases
from ..golden.rejects import MESSAGES

FAULTS: Final = (
    "kill the consumer",
    "freeze Neo4j",
    "restart Neo4j",
    "restart Kafka",
    "kill Kafka",
    "tear the checkpoint",
)
"""Killing takes the consumer with its Java and its workers; a torn checkpoint has a file of which the end is missing."""

FEWEST, MOST = 3, 5
"""Faults of a schedule."""

LONGEST_PAUSE = 2.0
"""Seconds between the first writing of a step's messages, or their sending, and the fault."""

AT_WORK = 0.75
"""The share of faults that wait until the consumer writes; the others mostly happen while it starts."""

LONGEST_OUTAGE = 6.0
"""Seconds for which a server is frozen or down, beside the time of its start."""


@dataclass(frozen=True, slots=True)
class Step:
    """Messages to send, seconds to wait, then a fault; ``seconds`` is how long the fault lasts.

    ``is_at_work``: the wait begins when the consumer has written some of the messages. ``choice`` is a number from 0 to 1 that
    chooses among what there is only when the fault happens, such as a file.
    """

    messages: tuple[bytes, ...]
    is_at_work: bool
    pause: float
    fault: str
    seconds: float
    choice: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of a seed, the messages after the last fault, and the largest batch of the consumer."""

    seed: int
    steps: tuple[Step, ...]
    rest: tuple[bytes, ...]
    batch: int

    @property
    def messages(self) -> list[bytes]:
        """All messages in the order of sending."""
        return [message for part in (*(step.messages for step in self.steps), self.rest) for message in part]

    def described(self) -> list[str]:
        """Return the faults in their order, with how long each lasts."""
        return [f"{step.fault} ({step.seconds:.1f} s)" for step in self.steps]


def schedule(seed: int) -> Schedule:
    """Return the schedule of a seed."""
    dice = random.Random(seed)
    messages = workload(dice)
    count = dice.randint(FEWEST, MOST)
    cuts = [0, *sorted(dice.sample(range(1, len(messages)), count)), len(messages)]
    parts = [tuple(messages[begin:end]) for begin, end in pairwise(cuts)]
    steps = tuple(
        Step(
            part,
            dice.random() < AT_WORK,
            dice.uniform(0, LONGEST_PAUSE),
            dice.choice(FAULTS),
            dice.uniform(1, LONGEST_OUTAGE),
            dice.random(),
        )
        for part in parts[:-1]
    )
    return Schedule(seed, steps, parts[-1], dice.choice((20, 60, 200)))


def workload(dice: random.Random) -> list[bytes]:
    """Return the messages of the golden cases and unusable ones, some of both twice, in any order."""
    usable = [message for case in all_cases() for message in case.messages]
    unusable = [message.value for message in MESSAGES if message.code is not None and message.value]
    known = [*usable, *unusable]
    messages = known + dice.sample(known, len(known) // 3)
    dice.shuffle(messages)
    return messages
