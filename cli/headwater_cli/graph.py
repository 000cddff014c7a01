"""``headwater graph``: make the graph's schema, show it; dump, check, rebuild the graph, and let its past go."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from headwater_avro.errors import HeadwaterError

from .graph_migrate import migrate
from .graph_retain import retain
from .querying import where_the_graph_is

if TYPE_CHECKING:
    from headwater_graph.store.neo4j_store import Neo4jStore


@click.group()
def graph() -> None:
    """Make the graph's schema, show it; dump, check, rebuild the graph, and let its past go."""


graph.add_command(migrate)
graph.add_command(retain)


@contextmanager
def _store() -> Iterator[Neo4jStore]:
    from headwater_graph.store.neo4j_store import Neo4jStore

    with Neo4jStore(where_the_graph_is()) as store:
        yield store


@graph.command()
@click.option(
    "--migrate", "migrated", is_flag=True, help="Lead an older graph to this schema first, as `graph migrate --apply`."
)
def init(migrated: bool) -> None:
    """Make constraints and indexes where they are not there yet; safe to run again."""
    from headwater_graph.store import schema

    where = where_the_graph_is()
    for version, step in schema.migrate(where) if migrated else ():
        click.echo(f"did version {version}: {step.purpose}")
    made = schema.init(where)
    click.echo(f"{made} constraints and indexes are there (schema version {schema.VERSION})")


@graph.command()
def schema() -> None:
    """Print the graph's model, what is unique, what is indexed, and questions to ask in Cypher."""
    from headwater_graph.queries.free_cypher.recipes import model, recipes
    from headwater_graph.store.statements import cypher

    shown = [recipe.shown() + ";" for recipe in recipes()]
    head = f"// {len(shown)} questions to ask with `headwater cypher`, names behind a $ are given with -p."
    click.echo("\n\n".join([model(), cypher("schema").strip(), head, *shown]))


@graph.command()
def dump() -> None:
    """Print the whole graph as sorted JSON lines, the canonical dump (specification 9).

    Exit code 1 while work is still owed: the graph is not settled, and its dump would not be final.
    """
    from headwater_graph.audit.dump import dump as dump_lines

    with _store() as store:
        _settled(store)
        for line in dump_lines(store):
            sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


@graph.command()
@click.option("--limit", default=100, show_default=True, help="How many differences to show.")
def check(limit: int) -> int:
    """Derive the graph anew from its records and list what differs; exit code 1 if anything does.

    ``-`` is what the records say and the graph lacks, ``+`` what the graph alone has.
    """
    from headwater_graph.audit.check import check as differences

    count = 0
    with _store() as store:
        for count, difference in enumerate(differences(store), 1):
            if count <= limit:
                click.echo(f"{difference.sign} {difference.line.decode()}", nl=False)
    if count > limit:
        click.echo(f"… and {count - limit} more (--limit {count} shows all)")
    click.echo(f"{count} differences" if count else "the graph is what its records say", err=True)
    return 1 if count else 0


@graph.command()
def rebuild() -> None:
    """Derive everything in the graph anew from its records. A consumer waits meanwhile; broken off, run it again."""
    from headwater_graph.audit.rebuild import rebuild as derive_anew

    def say(what: str, done: int) -> None:
        click.echo(f"\r{what}: {done}   ", nl=False, err=True)

    with _store() as store:
        made = derive_anew(store, progress=say)
    click.echo(err=True)
    click.echo(f"derived anew from {made.runs_and_events} runs and events, {made.jobs} jobs, {made.datasets} datasets")


def _settled(store: Neo4jStore) -> None:
    if store.has_deferred_work():
        raise HeadwaterError("the graph still owes work that a running `headwater consume` does: try again when it has")
