"""An operator that checks a table with SQL, and returns the results as facets of data quality.

Each check is a condition that every row must fulfil. The results are returned on success and on failure.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.operators import carry_over


class ChecksFailed(Exception):
    """At least one row breaks a check; the message names the checks."""


class CheckTable:
    """Counts the rows that break each check, and fails if there is any."""

    def __init__(self, task_id: str, database: Path, table: str, checks: Mapping[str, str]) -> None:
        self.task_id = task_id
        self.database = database
        self.table = table
        self.checks = dict(checks)

    def execute(self, context: dict[str, Any]) -> None:
        with closing(sqlite3.connect(self.database)) as connection:
            found = {name: self.broken(connection, condition) for name, condition in self.checks.items()}
            (rows,) = connection.execute(f'select count(*) from "{self.table}"').fetchone()
        carry_over(context["ti"]).update(broken=found, rows=rows)
        failed = sorted(name for name, count in found.items() if count)
        if failed:
            raise ChecksFailed(", ".join(failed))

    def broken(self, connection: sqlite3.Connection, condition: str) -> int:
        (count,) = connection.execute(f'select count(*) from "{self.table}" where not ({condition})').fetchone()
        return int(count)

    def get_openlineage_facets_on_complete(self, ti: Any) -> dict[str, Any]:
        """Return a dictionary with the members of the OpenLineage specification."""
        values = carry_over(ti)
        dataset: dict[str, Any] = {"namespace": f"sqlite://{self.database}", "name": f"main.{self.table}"}
        if "broken" in values:
            assertions = [self.assertion(name, count) for name, count in values["broken"].items()]
            dataset["inputFacets"] = {
                "dataQualityAssertions": {"assertions": assertions},
                "dataQualityMetrics": {"rowCount": values["rows"]},
            }
        return {"inputs": [dataset]}

    def assertion(self, name: str, broken: int) -> dict[str, Any]:
        return {
            "assertion": "custom_sql",
            "name": name,
            "success": broken == 0,
            "severity": "error",
            "content": self.checks[name],
            "contentType": "sql",
            "expected": "0",
            "actual": str(broken),
        }
