"""Write the jars of Spark's Kafka source to a folder: ``python fetch_jars.py FOLDER``; the jar lock verifies each."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from headwater_stack import fetch


def main() -> None:
    """Fetch and copy the jars; raises ServerUnavailable if the repository of the jars does not answer."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for jar in fetch(["spark-kafka"]):
        shutil.copy2(jar, folder / jar.name)


if __name__ == "__main__":
    main()
