"""``headwater dataset``: show a dataset and its versions."""

from __future__ import annotations

from datetime import datetime

import click

from headwater_graph.queries.catalog.entity import entity
from headwater_graph.queries.catalog.finding import Wanted, find
from headwater_graph.queries.presentation.catalog_texts import DATASET_VERSION_HEAD, dataset_version_cells, entity_lines
from headwater_graph.queries.presentation.formats import json_text, listing
from headwater_graph.queries.runs.history import dataset_versions

from ..options import key_argument, limit_option
from ..querying import active_since_option, format_options, now, paint, say, the_graph


@click.group()
def dataset() -> None:
    """Show a dataset and its versions.

    KEY is `namespace name`, `namespace#name` or any unambiguous tail of a name.
    """


def show_command(kind: Wanted, text: str) -> click.Command:
    """Return the command that shows a dataset or job."""

    @click.command("show", help=text)
    @key_argument(kind)
    @click.option("--facets", is_flag=True, help="Print every facet, as JSON.")
    @active_since_option
    @format_options("text", "json")
    def show(key: tuple[str, ...], facets: bool, active_since: datetime | None, form: str) -> None:
        with the_graph() as graph:
            shown = entity(graph, find(graph, key, (kind,)), now(), active_since)
        say(json_text(shown.value()) if form == "json" else "\n".join(entity_lines(shown, facets, paint())))

    return show


dataset.add_command(show_command("dataset", "Show a dataset: the jobs that write and read it, and its facets."))


@dataset.command("versions")
@key_argument("dataset")
@limit_option(50, 10_000)
@format_options("table", "json", "csv")
def versions_command(key: tuple[str, ...], limit: int, form: str) -> None:
    """List the versions of a dataset, the newest first, with runs, readers and changes of the schema."""
    with the_graph() as graph:
        lines = dataset_versions(graph, find(graph, key, ("dataset",)), limit + 1)
    more, lines = len(lines) > limit, lines[:limit]
    value = {"versions": [line.value() for line in lines], "more": more}
    rows, note = [dataset_version_cells(line) for line in lines], "there are more (--limit N)" if more else ""
    say(
        listing(
            form,
            value,
            DATASET_VERSION_HEAD,
            rows,
            empty="no version: no run or event is known that wrote it",
            more=note,
            paint=paint(),
        )
    )
