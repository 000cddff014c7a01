"""A pipeline of stages with a joiner: each stage tells what it does to its fields, the pipeline puts it together.

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
    with file.open(encoding="utf-8", newline="") as taken:
        yield from csv.DictReader(taken)


def in_cents(purchases: Iterable[Row]) -> Iterator[Row]:
    for row in purchases:
        if float(row["price"]) > 0:
            yield row | {"cents": str(round(float(row["price"]) * 100))}


def joined(customers: Iterable[Row], purchases: Iterable[Row]) -> Iterator[Row]:
    by_id = {row["id"]: row for row in customers}
    for row in purchases:
        if customer := by_id.get(row["customer_id"]):
            yield {"id": customer["id"], "customer": customer["name"], "item": row["item"], "cents": row["cents"]}


def told(customers: Path, purchases: Path, report: Path) -> Pipeline:
    """The same pipeline as fields: what `rows`, `in_cents` and `joined` do."""
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
        with report.open("w", encoding="utf-8", newline="") as made:
            writer = csv.DictWriter(made, REPORT_COLUMNS)
            writer.writeheader()
            writer.writerows(joined(rows(customers), in_cents(rows(purchases))))
        apply(told(customers, purchases, report).resolve(), run)


if __name__ == "__main__":
    main(*(Path(argument).absolute() for argument in sys.argv[1:4]))
