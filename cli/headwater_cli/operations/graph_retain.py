"""``headwater graph retain``: show what is before a horizon, and remove it from the graph (specification 10)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from headwater_avro.errors import ConfigError
from headwater_avro.times import format_time, micros_of

from ..options import json_option
from ..querying import graph_location, now, read_time

if TYPE_CHECKING:
    from headwater_graph.retention.retain import Removal


@click.command()
@click.option(
    "--older-than",
    required=True,
    metavar="AGE|TIME",
    help="Such as 90d, 12w, 2026-01-31T00:00:00Z.",
)
@click.option("--apply", "applied", is_flag=True, help="Remove it; without this it is only shown.")
@json_option
def retain(older_than: str, applied: bool, as_json: bool) -> None:
    """Show the runs that ended and had their last event before a time; with --apply, remove them.

    The time becomes the graph's horizon, which only moves forward: from then on, older events of unknown runs become dead
    letters (before_horizon). What is current stays. A consumer may run meanwhile; it finishes a removal that was interrupted.
    """
    from headwater_graph.retention.retain import retain as remove
    from headwater_graph.retention.retain import shown, would_remove
    from headwater_graph.store.neo4j_store import Neo4jStore

    horizon = _horizon(older_than)
    with Neo4jStore(graph_location(), holder="headwater graph retain") as store:
        removable = would_remove(store, horizon)
        if not as_json:
            _show(horizon, removable)
        removed = remove(store, horizon, progress=_report) if applied else None
    if as_json:
        value = {"horizon": format_time(horizon), "going": {kind: shown(found) for kind, found in removable.items()}}
        click.echo(json.dumps(value if removed is None else value | {"removed": dict(removed)}))
    elif removed is None:
        click.echo("nothing is changed: --apply removes it")
    else:
        click.echo(f"the horizon is {format_time(horizon)}; removed {_listed(removed)}")


def _horizon(text: str) -> int:
    time = read_time(text)
    if time > now():
        raise ConfigError(f"{text!r} is in the future: give a time in the past, or an age")
    return micros_of(time)


def _show(horizon: int, removable: dict[str, Removal]) -> None:
    click.echo(f"before {format_time(horizon)}:")
    for kind, found in removable.items():
        times = f"  {format_time(found.oldest)} to {format_time(found.newest)}" if found.oldest and found.newest else ""
        more = ", …" if found.count > len(found.examples) else ""
        examples = f"  {', '.join(found.examples)}{more}" if found.examples else ""
        click.echo(f"{found.count:>12,} {kind:<16}{times}{examples}")


def _listed(removed: Counter[str]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(removed.items()) if count) or "nothing"


def _report(removed: Counter[str]) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[Kremoved {_listed(removed)} ", nl=False, err=True)
