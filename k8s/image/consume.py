"""The consumer as spark-submit starts it: a file, since a module has no path that a SparkApplication could name."""

from __future__ import annotations

import sys

from headwater_consumer.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
