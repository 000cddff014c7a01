"""``headwater keys``: the keys with which producers sign their messages."""

from __future__ import annotations

from pathlib import Path

import click

from headwater_avro.signatures import add_key, made_key, read_keys

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def keys() -> None:
    """Make, list and check the keys with which producers sign messages (HEADWATER_PRODUCER_KEYS)."""


@keys.command()
@click.argument("key_id", metavar="ID")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    required=True,
    help="A namespace of its jobs: team, or team-*; repeat it.",
)
@click.option(
    "--file", "path", type=click.Path(dir_okay=False, path_type=Path), help="Append the key to this file, too."
)
def new(key_id: str, namespaces: tuple[str, ...], path: Path | None) -> None:
    """Print a new key: the line for the consumer's file, and for the producer's, which has this line alone."""
    made = made_key(key_id, namespaces)
    if path is not None:
        add_key(path, made)
    click.echo(made.line())


@keys.command("list")
@click.argument("path", metavar="FILE", type=_FILE)
def list_(path: Path) -> None:
    """List ids and namespaces of the keys in a file, without the secrets."""
    for key in read_keys(path).keys.values():
        click.echo(f"{key.id} {' '.join(key.namespaces)}")


@keys.command()
@click.argument("path", metavar="FILE", type=_FILE)
@click.argument("key_id", metavar="ID")
@click.argument("namespace")
def check(path: Path, key_id: str, namespace: str) -> int:
    """Report whether a key may state something of a namespace: exit code 0 yes, 1 no."""
    key = read_keys(path).keys.get(key_id)
    is_allowed = key is not None and key.allows(namespace)
    why = "there is no such key" if key is None else f"its namespaces are {' '.join(key.namespaces)}"
    click.echo("allowed" if is_allowed else f"not allowed: {why}")
    return 0 if is_allowed else 1
