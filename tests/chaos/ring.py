"""Run schedules of faults: ``python -m tests.chaos.ring --seeds 10``, or one again: ``--seed 7``.

Each schedule has a topic, an empty graph and a consumer of its own on a local stack. The consumer is started again whenever it
ends. After the last fault it reads what is left; then the graph must equal the independent model's, the dead letters must be the
unusable messages, and the graph must agree with its own records. Every result is appended to ``bench/results/chaos.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import headwater_stack
from headwater_consumer.kafka.dead_letters import letters_on
from headwater_graph.audit.check import check
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_stack.kafka_broker import make_topics

from ..end_to_end.consuming import Room
from ..feeding import differences, dumped
from ..laws.model import accepted
from ..laws.model import dump as model_dump
from ..servers import Servers
from ..store.empty import emptied, opened
from .faults import Faults, kill
from .schedule import Schedule, schedule

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "chaos.jsonl"
PARTITIONS = 4
HUNG = 600.0
"""Seconds after which a consumer that reads what is left counts as hung."""

LAST_STARTS = 3
"""Starts in which the consumer must read what is left once no more faults happen."""


def run(given: Schedule, home: Path, servers: Servers) -> list[str]:
    """Run a schedule; return what is wrong afterwards, nothing if all is right."""
    topic = f"chaos-{given.seed}-{uuid.uuid4().hex[:8]}"
    make_topics(servers.kafka_bootstrap_servers, {topic: PARTITIONS, f"{topic}.dead": 1})
    with tempfile.TemporaryDirectory(prefix="headwater-chaos-") as folder:
        room = Room(servers, topic, Path(folder))
        with opened(servers) as store:
            emptied(store)
            with Faults(room, home, {"HEADWATER_MAX_OFFSETS_PER_TRIGGER": str(given.batch)}) as faults:
                for step in given.steps:
                    before = written(store)
                    room.publish(step.messages)
                    if step.is_at_work:
                        faults.until(partial(has_written, store, before))
                    faults.pause(step.pause)
                    faults.happen(step)
                room.publish(given.rest)
        return caught_up(room) or wrong(room, given.messages)


def written(store: Neo4jStore) -> str:
    """Return the offsets that the graph has, as a text."""
    records, _, _ = store.driver.execute_query("MATCH (w:Writer {name: 'consumer'}) RETURN w.offsets AS offsets")
    return str(records[0]["offsets"]) if records else ""


def has_written(store: Neo4jStore, before: str) -> bool:
    """Return whether the graph has other offsets than before."""
    return written(store) != before


def caught_up(room: Room) -> list[str]:
    """Let a consumer read what is left; return the end of its log if it does not end well."""
    for _ in range(LAST_STARTS):
        process = room.start("--available-now")
        try:
            if process.wait(HUNG) == 0:
                return []
        finally:
            kill(process)
    return ["the consumer does not get through: " + room.log()[-2_000:]]


def wrong(room: Room, messages: list[bytes]) -> list[str]:
    """Return how the graph and the dead letters differ from what these messages give."""
    found: list[str] = []
    with opened(room.servers) as store:
        expected, actual = model_dump(messages), dumped(store)
        if actual != expected:
            found.append("dump: " + differences(expected, actual)[:2_000])
        found += [f"graph check: {fault}" for fault in islice(check(store), 10)]
    unusable = sorted(message for message in messages if not accepted([message]))
    client = {"bootstrap.servers": room.servers.kafka_bootstrap_servers}
    letters = {letter.identity: letter for _, letter in letters_on(client, f"{room.topic}.dead")}
    lettered = sorted(letter.message.value or b"" for letter in letters.values())
    if lettered != unusable:
        found.append(f"dead letters: {len(lettered)}, unusable messages: {len(unusable)}")
    return found


@contextmanager
def stack() -> Iterator[tuple[Path, Servers]]:
    """Run a local stack of its own; yield its home and its servers."""
    with tempfile.TemporaryDirectory(prefix="headwater-chaos-stack-") as folder:
        home = Path(folder)
        try:
            at = headwater_stack.up(home)
            yield (
                home,
                Servers(at.kafka_bootstrap_servers, at.neo4j_uri, at.neo4j_user, at.neo4j_password, "chaos"),
            )
        finally:
            headwater_stack.down(home)


def commit() -> str:
    """Return the commit of the checkout, with a plus if files differ from it."""
    said = [
        subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for arguments in (
            ["rev-parse", "--short=12", "HEAD"],
            ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"],
        )
    ]
    return said[0] + ("+" if said[1] else "")


def recorded(given: Schedule, seconds: float, faults: list[str]) -> dict[str, Any]:
    """Append the result of a schedule to the results, and return it."""
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "seed": given.seed,
        "messages": len(given.messages),
        "faults": given.described(),
        "seconds": round(seconds, 1),
        "passed": not faults,
        "wrong": faults,
    }
    with RESULTS.open("a", encoding="utf-8") as results:
        results.write(json.dumps(result) + "\n")
    return result


def main() -> None:
    """Run the schedules of the arguments; exit with 1 if one of them has failed."""
    parser = argparse.ArgumentParser(description="seeded schedules of faults")
    parser.add_argument("--seeds", type=int, default=0, help="how many seeds, from 0")
    parser.add_argument("--seed", type=int, help="this seed alone")
    given = parser.parse_args()
    seeds = range(given.seeds) if given.seed is None else [given.seed]
    failed: list[int] = []
    with stack() as (home, servers):
        for seed in seeds:
            one, began = schedule(seed), time.monotonic()
            try:
                faults = run(one, home, servers)
            except Exception as fault:  # noqa: BLE001 - it is the result of this seed, and others follow
                faults = [f"{type(fault).__name__}: {fault}"]
            result = recorded(one, time.monotonic() - began, faults)
            print(json.dumps(result), flush=True)
            failed += [] if result["passed"] else [seed]
    if failed:
        sys.exit(f"failed: {', '.join(f'make chaos SEED={seed}' for seed in failed)}")


if __name__ == "__main__":
    main()
