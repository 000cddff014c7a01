"""What ``headwater report exposure`` has beside the other reports: its options, and findings that are known already."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.reports.exposure import NAME, ExposureQuery, exposure
from headwater_graph.queries.reports.reports import MOST, Report

from ..options import Command

THROUGH_MASKING = "HEADWATER_THROUGH_MASKING"
_IDENTITY = ("namespace", "dataset", "column", "tag")
"""The members of a finding that say which one it is."""


@dataclass(frozen=True, slots=True)
class ExposureOptions:
    """The options of the report on exposed columns."""

    tag: str | None = None
    indirect: bool = False
    through_masking: tuple[str, ...] = ()
    known: Path | None = None
    fail_on_new: bool = False

    def query(self, active_since: datetime | None) -> ExposureQuery:
        """Return which columns the report lists."""
        return ExposureQuery(self.tag, self.indirect, frozenset(self.through_masking), active_since)

    def check(self, name: str) -> None:
        """Raise ConfigError if options of this report are given with another one."""
        if name != NAME and replace(self, through_masking=()) != ExposureOptions():
            raise ConfigError(f"--tag, --indirect, --known and --fail-on-new belong to the report {NAME}")


def exposure_options(command: Command) -> Command:
    """Add the options of the report on exposed columns; the command gets ``options``."""
    added: list[Callable[[Command], Command]] = [
        click.option("--tag", help="exposure: the tag of the data; without it all tags."),
        click.option("--indirect", is_flag=True, help="exposure: also columns that such data influence."),
        click.option(
            "--through-masking",
            multiple=True,
            metavar="TAG",
            envvar=THROUGH_MASKING,
            help="exposure: a tag that masking does not end; repeatable.",
        ),
        click.option(
            "--known",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="exposure: leave out the findings of an earlier report (its --json).",
        ),
        click.option("--fail-on-new", is_flag=True, help="exposure: exit with 1 if there is any finding."),
    ]
    for option in reversed(added):
        command = option(command)
    return command


def exposure_report(
    graph: GraphReader, options: ExposureOptions, limit: int, active_since: datetime | None = None
) -> Report:
    """Return the report without the findings that are known already; raises ConfigError for a file that is no such report."""
    known = _known(options.known) if options.known else frozenset()
    found = exposure(graph, options.query(active_since), MOST if known else limit)
    new = tuple(row for row in found.rows if row[: len(_IDENTITY)] not in known)
    return replace(found, rows=new[:limit], truncated=found.truncated or len(new) > limit)


def _known(path: Path) -> frozenset[tuple[Any, ...]]:
    try:
        (rows,) = [each["rows"] for each in json.loads(path.read_text(encoding="utf-8")) if each["report"] == NAME]
        return frozenset(tuple(row[member] for member in _IDENTITY) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise ConfigError(f"{path} is not the output of `headwater report {NAME} --json`: {fault!r}") from fault
