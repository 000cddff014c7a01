"""``python -m headwater_consumer``: the consumer in a container, configured by the environment or ``headwater.toml``.

Its jars are those of HEADWATER_SPARK_JARS. The exit code is 0 after a requested stop, else the code of the error that ended
it (``headwater_avro.errors``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from headwater_avro.errors import HeadwaterError
from headwater_consumer.config import load, read_file
from headwater_consumer.monitoring.log import configure


def main() -> int:
    """Consume until a stop is requested; return the exit code."""
    try:
        settings = load(environ=os.environ, file=read_file(os.environ, Path.cwd())).settings
        configure(settings.log_format)
        from headwater_consumer.service import consume

        consume(settings, available_now="--available-now" in sys.argv[1:])
    except HeadwaterError as fault:
        print(f"headwater: {fault}", file=sys.stderr)
        return fault.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
