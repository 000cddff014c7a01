"""``headwater graph migrate``: migrate a graph that an older headwater wrote to the current schema."""

from __future__ import annotations

import json

import click

from ..options import json_option
from ..querying import graph_location


@click.command()
@click.option("--apply", "applied", is_flag=True, help="Migrate; without this the steps are only shown.")
@json_option
def migrate(applied: bool, as_json: bool) -> None:
    """Show which migration steps the graph needs; with --apply, take them.

    Stop what writes to the graph first. If a migration is interrupted, run it again: it continues.
    """
    from headwater_graph.store import schema

    settings = graph_location()
    steps = schema.migrate(settings) if applied else iter(schema.pending(settings))
    taken = []
    for version, step in steps:
        taken.append({"version": version, "purpose": step.purpose})
        if not as_json:
            click.echo(f"{'did' if applied else 'would do'} version {version}: {step.purpose}")
    if as_json:
        click.echo(json.dumps({"version": schema.VERSION, "applied": applied, "steps": taken}))
    elif not taken:
        click.echo(f"the graph has schema version {schema.VERSION} or none yet: there is nothing to do")
    elif not applied:
        click.echo("nothing is changed: --apply does it")
