"""Two operators in a workflow, without a scheduler: `python examples/operators/nightly.py FILE.csv DATABASE`.

Events go to the Kafka of the environment (``HEADWATER_KAFKA_BOOTSTRAP_SERVERS``), without it to the spool.
"""

from __future__ import annotations

import sys
from pathlib import Path

from check_table import CheckTable
from load_file import LoadFile

from headwater.operators import EventSink, OperatorRunner

CHECKS = {"amounts are positive": "cast(amount as integer) > 0", "every order has a customer": "customer <> ''"}


def nightly(file: Path, database: Path, sink: EventSink | None = None) -> list[str]:
    """Load the file and check the table; return the states of the two tasks."""
    runner = OperatorRunner("shop", sink=sink)
    with runner.workflow("nightly") as workflow:
        loaded = workflow.run(LoadFile("load_orders", file, database, "orders"))
        checked = workflow.run(CheckTable("check_orders", database, "orders", CHECKS))
    runner.listener.flush()
    return [loaded.state, checked.state]


if __name__ == "__main__":
    print(*nightly(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
