"""The two small tables that the jobs of ``jobs/`` read, as parquet files below ``$WORK/in``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ORDERS: dict[str, list[Any]] = {
    "order_id": [1, 2, 3, 4, 5, 6],
    "customer_id": [1, 1, 2, 3, 3, 9],
    "amount": [10.0, 20.0, 30.0, 5.0, 15.0, 25.0],
    "status": ["paid", "open", "paid", "void", "paid", "open"],
    "day": ["2026-01-01", "2026-01-02", "2026-01-01", "2026-01-03", "2026-01-02", "2026-01-01"],
}
CUSTOMERS: dict[str, list[Any]] = {
    "customer_id": [1, 2, 3, 4],
    "name": ["Ann", "Bea", "Cem", "Dov"],
    "country": ["pl", "de", "pl", "fr"],
    "email": ["ann@example.org", "bea@example.org", "cem@example.org", "dov@example.org"],
}


def work() -> str:
    """The job's folder."""
    return os.environ["WORK"]


def orders() -> str:
    """The file with the orders."""
    return _file("orders", ORDERS)


def customers() -> str:
    """The file with the customers."""
    return _file("customers", CUSTOMERS)


def text(name: str, lines: str) -> str:
    """A file of lines."""
    path = Path(work()) / "in" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(lines)
    return str(path)


def _file(name: str, columns: dict[str, list[Any]]) -> str:
    path = Path(work()) / "in" / f"{name}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return str(path)
