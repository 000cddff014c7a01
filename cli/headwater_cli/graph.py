"""``headwater graph``: make the graph's schema, show it, dump the graph."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from headwater_avro.errors import HeadwaterError

from .asking import where_the_graph_is

if TYPE_CHECKING:
    from headwater_graph.store import Neo4jStore


@click.group()
def graph() -> None:
    """Make the graph's schema, show it, dump the graph."""


@contextmanager
def _store() -> Iterator[Neo4jStore]:
    from headwater_graph.store import Neo4jStore

    with Neo4jStore(where_the_graph_is()) as store:
        yield store


@graph.command()
def init() -> None:
    """Make constraints and indexes where they are not there yet; safe to run again."""
    from headwater_graph import schema

    made = schema.init(where_the_graph_is())
    click.echo(f"{made} constraints and indexes are there (schema version {schema.VERSION})")


@graph.command()
def schema() -> None:
    """Print the schema: what is unique, what is indexed."""
    from headwater_graph.statements import cypher

    click.echo(cypher("schema"), nl=False)


@graph.command()
def dump() -> None:
    """Print the whole graph as sorted JSON lines, the canonical dump (SPEC 9).

    Exit code 1 while work is still owed: the graph is not settled, and its dump would not be final.
    """
    from headwater_consumer.dump import dump as dump_lines

    with _store() as store:
        _settled(store)
        for line in dump_lines(store):
            sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _settled(store: Neo4jStore) -> None:
    if store.owes():
        raise HeadwaterError("the graph still owes work that a running `headwater consume` does: try again when it has")
