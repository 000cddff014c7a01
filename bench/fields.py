"""CPU seconds to resolve field lineage, and ratios to reading the same operations from JSON.

Run it: ``python bench/fields.py [--append]``; with ``--append`` the rows go to ``bench/results/fields.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from record import append

from headwater.fields import DatasetRef, Operation, columns, resolve_operations
from headwater.fields.cases.notation import wired_json, wired_operation
from headwater.fields.emit.facets import column_lineage_facet

START, DEST = DatasetRef("bench", "start"), DatasetRef("bench", "dest")


def rounds(fields: int, times: int) -> Iterator[Operation]:
    """Yield rounds of an identity per field, then an all-to-all operation."""
    names = [f"num{number}" for number in range(fields)]
    yield Operation.read("read", START, names)
    links = [("read", name) for name in names]
    for turn in range(times):
        yield from (
            Operation.transform(f"same{turn} {name}", [link], [name]) for link, name in zip(links, names, strict=True)
        )
        yield Operation.transform(f"all{turn}", [(f"same{turn} {name}", name) for name in names], names)
        links = [(f"all{turn}", name) for name in names]
    yield Operation.write("write", DEST, links)


def all_to_all(fields: int, operations: int) -> Iterator[Operation]:
    """Yield a chain of operations, each of which reads and writes every field."""
    names = [f"num{number}" for number in range(fields)]
    yield Operation.read("read", START, names)
    before = "read"
    for turn in range(operations):
        yield Operation.transform(f"all{turn}", [(before, name) for name in names], names)
        before = f"all{turn}"
    yield Operation.write("write", DEST, [(before, name) for name in names])


CASES: dict[str, Callable[[], Iterator[Operation]]] = {
    "100 fields, 5 rounds": lambda: rounds(100, 5),
    "500 fields, 10 rounds (5,012 operations)": lambda: rounds(500, 10),
    "500 fields, 5,000 all-to-all": lambda: all_to_all(500, 5_000),
    "1 field, 100,000 operations deep": lambda: all_to_all(1, 100_000),
}


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure(name: str) -> dict[str, Any]:
    operations = list(CASES[name]())
    text = json.dumps([wired_json(operation) for operation in operations])
    reading = seconds(lambda: [wired_operation(operation) for operation in json.loads(text)])
    resolving = seconds(lambda: resolve_operations(operations))
    lineage = resolve_operations(operations)
    index = seconds(lambda: (lineage.operation_index.by_source, lineage.operation_index.by_destination))
    kinds = seconds(lambda: columns(lineage, DEST))
    facet = seconds(lambda: column_lineage_facet(lineage, DEST, "bench"))
    row = {
        "case": name,
        "reading": reading,
        "resolving": resolving,
        "touches": index,
        "columns": kinds,
        "facet": facet,
    }
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--append", action="store_true")
    is_recorded = arguments.parse_args().append
    for name in CASES:
        row = measure(name)
        ratio = row["resolving"] / row["reading"]
        sys.stdout.write(f"{name:42} resolve {row['resolving']:7.3f} s = {ratio:4.2f} x reading it from JSON;")
        sys.stdout.write(
            f" touches {row['touches']:6.3f} s, columns {row['columns']:6.3f} s, facet {row['facet']:6.3f} s\n"
        )
        if is_recorded:
            append(row, "fields")


if __name__ == "__main__":
    main()
