"""Schedules of faults: what a seed determines, and what every schedule has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from ..laws.model import accepted
from .faults import descendants
from .schedule import FAULTS, FEWEST, MOST, schedule

SEEDS = range(40)


def test_a_seed_always_gives_the_same_schedule_and_others_give_others() -> None:
    assert schedule(7) == schedule(7)
    assert len({repr(schedule(seed)) for seed in SEEDS}) == len(SEEDS)


def test_every_fault_and_every_count_of_faults_occurs() -> None:
    schedules = [schedule(seed) for seed in SEEDS]
    assert {step.fault for given in schedules for step in given.steps} == set(FAULTS)
    assert {len(given.steps) for given in schedules} == set(range(FEWEST, MOST + 1))


@pytest.mark.parametrize("seed", [0, 1])
def test_messages_are_usable_and_unusable_and_some_come_twice(seed: int) -> None:
    messages = schedule(seed).messages
    kinds = Counter(bool(accepted([message])) for message in messages)
    assert min(kinds[True], kinds[False]) > 100
    assert max(Counter(messages).values()) >= 2
    assert all(step.messages for step in schedule(seed).steps)
    assert Counter(messages).keys() == Counter(schedule(seed + 1).messages).keys()


def test_descendants_are_the_processes_below_a_process() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        (below,) = descendants(process.pid)
        assert below in set(descendants(os.getpid()))
        process.communicate(b"\n")
