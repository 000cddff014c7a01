"""``headwater up | down | status``: the local Kafka and Neo4j."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import click

import headwater_stack

from .options import Command, json_option

_PORT = click.IntRange(1, 65535)
# Secrets stay in their file: what a command prints may end up in logs.
_HIDDEN = ("neo4j_password",)


def home_option(command: Command) -> Command:
    """Add ``--home``."""
    where = "The folder of the servers and their data [default: HEADWATER_HOME or ~/.local/share/headwater]."
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--home", type=kind, default=headwater_stack.default_home, help=where)(command)


def make_schema(addresses: headwater_stack.Addresses) -> None:
    """Create the graph's schema in a new stack."""
    from headwater_graph.settings import graph_settings
    from headwater_graph.store import schema

    schema.init(
        graph_settings(
            uri=addresses.neo4j_uri, user=addresses.neo4j_user, password=addresses.neo4j_password, database="neo4j"
        )
    )


@click.command()
@home_option
@click.option("--kafka-port", type=_PORT, help="Kafka's port [default: a free one].")
@click.option("--neo4j-port", type=_PORT, help="Neo4j's port [default: a free one].")
@click.option("--reset", is_flag=True, help="Delete the stack's data first.")
@json_option
def up(home: Path, kafka_port: int | None, neo4j_port: int | None, reset: bool, as_json: bool) -> None:
    """Start the local Kafka and Neo4j, unless they run already."""
    addresses = headwater_stack.up(
        home,
        kafka_port=kafka_port,
        neo4j_port=neo4j_port,
        reset=reset,
        progress=headwater_stack.progress_on(sys.stderr),
        prepare=make_schema,
    )
    if as_json:
        shown = dataclasses.asdict(addresses)
        click.echo(json.dumps({name: str(shown[name]) for name in shown if name not in _HIDDEN}))
        return
    click.echo(f"Kafka  {addresses.kafka_bootstrap_servers}")
    click.echo(
        f"Neo4j  {addresses.neo4j_uri}  user {addresses.neo4j_user}, password in {addresses.neo4j_password_file}"
    )


@click.command()
@home_option
@json_option
def down(home: Path, as_json: bool) -> None:
    """Stop the local Kafka and Neo4j; their data stays."""
    stopped = headwater_stack.down(home, progress=headwater_stack.progress_on(sys.stderr))
    click.echo(json.dumps({"stopped": stopped}) if as_json else "stopped" if stopped else "nothing was running")


@click.command()
@home_option
@json_option
def status(home: Path, as_json: bool) -> int:
    """Show whether the local servers run, and their addresses; exit code 1 unless all answer."""
    known = headwater_stack.status(home)
    if as_json:
        shown = {"up": known.is_up, **dataclasses.asdict(known)}
        click.echo(json.dumps(shown, default=str))
    else:
        for server in known.servers:
            click.echo(_status_line(server))
    return 0 if known.is_up else 1


def _status_line(server: headwater_stack.ServerStatus) -> str:
    if server.pid is None:
        return f"{server.title}  is not running: `headwater up` starts it"
    state = "answers" if server.answers else f"does not answer (log: {server.log})"
    return f"{server.title}  {state} at {server.address}, process {server.pid}"
