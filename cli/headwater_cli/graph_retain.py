"""``headwater graph retain``: what lies before a horizon is removed from the graph (specification 7), and first of all shown."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from headwater_avro.errors import ConfigError
from headwater_avro.times import format_time, micros_of

from .querying import now, read_time, where_the_graph_is

if TYPE_CHECKING:
    from headwater_graph.retention.retain import Removal


@click.command()
@click.option("--older-than", required=True, metavar="AGE|TIME", help="Such as 90d, 12w, 2026-01-31T00:00:00Z.")
@click.option("--apply", "applied", is_flag=True, help="Do it; without this it is only shown.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def retain(older_than: str, applied: bool, as_json: bool) -> None:
    """Show what ended and had its last event before a time, and with --apply remove it.

    The time becomes the graph's horizon, which only moves forward: from then on older events of unknown runs are dead
    letters (before_horizon). What is current stays. It can run beside a consumer; broken off, the next one goes on with it.
    """
    from headwater_graph.retention.retain import retain as remove
    from headwater_graph.retention.retain import shown, would_remove
    from headwater_graph.store.neo4j_store import Neo4jStore

    horizon = _horizon(older_than)
    with Neo4jStore(where_the_graph_is(), holder="headwater graph retain") as store:
        going = would_remove(store, horizon)
        if not as_json:
            _show(horizon, going)
        removed = remove(store, horizon, progress=_say) if applied else None
    if as_json:
        told = {"horizon": format_time(horizon), "going": {kind: shown(one) for kind, one in going.items()}}
        click.echo(json.dumps(told if removed is None else told | {"removed": dict(removed)}))
    elif removed is None:
        click.echo("nothing is changed: --apply removes it")
    else:
        click.echo(f"the horizon is {format_time(horizon)}; removed {_listed(removed)}")


def _horizon(text: str) -> int:
    time = read_time(text)
    if time > now():
        raise ConfigError(f"{text!r} lies in the future: a horizon is a time that is over")
    return micros_of(time)


def _show(horizon: int, going: dict[str, Removal]) -> None:
    click.echo(f"before {format_time(horizon)}:")
    for kind, one in going.items():
        times = f"  {format_time(one.oldest)} to {format_time(one.newest)}" if one.oldest and one.newest else ""
        examples = (
            f"  {', '.join(one.examples)}{', …' if one.count > len(one.examples) else ''}" if one.examples else ""
        )
        click.echo(f"{one.count:>12,} {kind:<16}{times}{examples}")


def _listed(removed: Counter[str]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(removed.items()) if count) or "nothing"


def _say(removed: Counter[str]) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[Kremoved {_listed(removed)} ", nl=False, err=True)
