"""``python -m headwater_consumer``: the consumer in a container, set by the environment or ``headwater.toml``.

Its jars are those of HEADWATER_SPARK_JARS. Exit codes as everywhere: 0 asked to stop, 1 failed, 2 wrong settings, 3 a
server is not there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from headwater_avro.errors import ConfigError, HeadwaterError, ServerUnavailable
from headwater_consumer.config import load, read_file
from headwater_consumer.log import configure


def main() -> int:
    """Consume until asked to stop; return the exit code."""
    try:
        settings = load(environ=os.environ, file=read_file(os.environ, Path.cwd())).settings
        configure(settings.log_format)
        from headwater_consumer.service import consume

        consume(settings, available_now="--available-now" in sys.argv[1:])
    except HeadwaterError as fault:
        print(f"headwater: {fault}", file=sys.stderr)
        return {ConfigError: 2, ServerUnavailable: 3}.get(type(fault), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
