"""An operator that loads a CSV file into a table, and returns its lineage.

It does not depend on a scheduler: it defines `execute`, and two methods that return the lineage. Values that are only known
in `execute` (columns, number of rows) are stored with the task, because a scheduler may call the lineage methods of another
object.
"""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.operators import InputDataset, OutputDataset, TaskInstanceLineage, carry_over, dataset_name


class LoadFile:
    """Appends the rows of a CSV file with a head line to a table of the same columns."""

    def __init__(self, task_id: str, file: Path, database: Path, table: str) -> None:
        self.task_id = task_id
        self.file = file
        self.database = database
        self.table = table

    def execute(self, context: dict[str, Any]) -> int:
        with self.file.open(newline="") as lines:
            columns, *rows = csv.reader(lines)
        names = ", ".join(f'"{column}"' for column in columns)
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(f'create table if not exists "{self.table}" ({names})')
            placeholders = ", ".join("?" * len(columns))
            connection.executemany(f'insert into "{self.table}" ({names}) values ({placeholders})', rows)
        carry_over(context["ti"]).update(columns=columns, rows=len(rows))
        return len(rows)

    def get_openlineage_facets_on_start(self, ti: Any) -> TaskInstanceLineage:
        """Return the lineage before the run: the file and the table."""
        return TaskInstanceLineage([self.source()], [self.target()])

    def get_openlineage_facets_on_complete(self, ti: Any) -> TaskInstanceLineage:
        """Return the lineage after the run, with columns, their sources and the number of rows."""
        values = carry_over(ti)
        source = self.source()
        columns = values["columns"]
        came_from = {
            column: {"inputFields": [{"namespace": source.namespace, "name": source.name, "field": column}]}
            for column in columns
        }
        target = self.target(
            {"schema": {"fields": [{"name": column} for column in columns]}, "columnLineage": {"fields": came_from}},
            {"outputStatistics": {"rowCount": values["rows"]}},
        )
        return TaskInstanceLineage([source], [target])

    def source(self) -> InputDataset:
        return InputDataset(*dataset_name("file", "", str(self.file)))

    def target(
        self, facets: dict[str, Any] | None = None, output_facets: dict[str, Any] | None = None
    ) -> OutputDataset:
        return OutputDataset(f"sqlite://{self.database}", f"main.{self.table}", facets or {}, output_facets or {})
