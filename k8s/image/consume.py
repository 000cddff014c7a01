"""The consumer's script for spark-submit: a SparkApplication needs the path of a file, not a module."""

from __future__ import annotations

import sys

from headwater_consumer.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
