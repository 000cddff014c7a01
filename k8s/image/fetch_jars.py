"""Put the jars of Spark's Kafka source into a folder: ``python fetch_jars.py FOLDER``; each is checked by the jar lock."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from headwater_stack import fetch


def main() -> None:
    """Fetch and copy; raises ServerUnavailable where the jars' repository is not there."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for jar in fetch(["spark-kafka"]):
        shutil.copy2(jar, folder / jar.name)


if __name__ == "__main__":
    main()
