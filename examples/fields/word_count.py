"""Lines to words and their counts: the input has no schema, so the program names its only field itself.

Run it: python examples/fields/word_count.py lines.txt counts.csv
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

from headwater import lineage
from headwater.fields import Destination, FieldOperation, Input, Output, ProgramRecorder, Source


def count(lines: Path, counts: Path) -> None:
    numbers = Counter(word for line in lines.read_text(encoding="utf-8").splitlines() for word in line.split())
    with counts.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(["word", "count"])
        writer.writerows(sorted(numbers.items()))


def main(lines: Path, counts: Path) -> None:
    source = Source.of("file", str(lines))
    create = (
        FieldOperation.builder("Create")
        .set_description("Creating the word and count fields")
        .add_input(Input.of(source, "record"))
        .add_outputs([Output.of("word"), Output.of("count")])
        .build()
    )
    with lineage.run("examples", "word_count") as run:
        count(lines, counts)
        ProgramRecorder(run).record(Destination.of("file", str(counts)), [create])


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
