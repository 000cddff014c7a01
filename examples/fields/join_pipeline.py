"""A pipeline of stages with a joiner: each stage records its operations, and the pipeline wires them.

Run it: python examples/fields/join_pipeline.py customers.csv purchases.csv report.csv
The inputs have the columns id, name, city and customer_id, item, price.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from headwater import lineage
from headwater.fields import Destination, FieldOperation, OpKind, Pipeline, Source, apply
from headwater.fields.shapes import Selected, influence, join

Row = dict[str, str]
REPORT_COLUMNS = ["id", "customer", "item", "cents"]


def rows(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8", newline="") as source:
        yield from csv.DictReader(source)


def in_cents(purchases: Iterable[Row]) -> Iterator[Row]:
    for row in purchases:
        if float(row["price"]) > 0:
            yield row | {"cents": str(round(float(row["price"]) * 100))}


def join_rows(customers: Iterable[Row], purchases: Iterable[Row]) -> Iterator[Row]:
    by_id = {row["id"]: row for row in customers}
    for row in purchases:
        if customer := by_id.get(row["customer_id"]):
            yield {"id": customer["id"], "customer": customer["name"], "item": row["item"], "cents": row["cents"]}


def field_pipeline(customers: Path, purchases: Path, report: Path) -> Pipeline:
    """Return the field operations of ``rows``, ``in_cents`` and ``join_rows`` as a pipeline."""
    pipeline = Pipeline()
    pipeline.stage("customers", source=Source.of("file", str(customers), schema=["id", "name", "city"]))
    pipeline.stage("purchases", source=Source.of("file", str(purchases), schema=["customer_id", "item", "price"]))
    cents = pipeline.stage("cents", inputs=["purchases"])
    cents.record([*influence(OpKind.FILTER, "price"), FieldOperation("to cents", ["price"], ["cents"])])
    joiner = pipeline.stage("join", inputs=["customers", "cents"], joiner=True)
    selected = [
        Selected("customers", "id"),
        Selected("customers", "name", "customer"),
        Selected("cents", "item"),
        Selected("cents", "cents"),
    ]
    joiner.record(join({"customers": ["id"], "cents": ["customer_id"]}, selected))
    pipeline.stage("report", inputs=["join"], destination=Destination.of("file", str(report), schema=REPORT_COLUMNS))
    return pipeline


def main(customers: Path, purchases: Path, report: Path) -> None:
    with lineage.run("examples", "customer_report") as run:
        with report.open("w", encoding="utf-8", newline="") as target:
            writer = csv.DictWriter(target, REPORT_COLUMNS)
            writer.writeheader()
            writer.writerows(join_rows(rows(customers), in_cents(rows(purchases))))
        apply(field_pipeline(customers, purchases, report).resolve(), run)


if __name__ == "__main__":
    main(*(Path(argument).absolute() for argument in sys.argv[1:4]))
