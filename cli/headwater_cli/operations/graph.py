"""``headwater graph``: create, migrate and show the schema; dump, check and rebuild the graph; remove what is old."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from headwater_avro.errors import HeadwaterError

from ..querying import graph_location
from .graph_migrate import migrate
from .graph_retain import retain

if TYPE_CHECKING:
    from headwater_graph.store.neo4j_store import Neo4jStore


@click.group()
def graph() -> None:
    """Create, migrate and show the schema; dump, check and rebuild the graph; remove what is old."""


graph.add_command(migrate)
graph.add_command(retain)


def _store() -> Neo4jStore:
    from headwater_graph.store.neo4j_store import Neo4jStore

    return Neo4jStore(graph_location())


@graph.command()
@click.option(
    "--migrate", "migrated", is_flag=True, help="Migrate an older graph first, as `graph migrate --apply` does."
)
def init(migrated: bool) -> None:
    """Create the constraints and indexes that do not exist yet; safe to run again."""
    from headwater_graph.store import schema

    settings = graph_location()
    for version, step in schema.migrate(settings) if migrated else ():
        click.echo(f"did version {version}: {step.purpose}")
    count = schema.init(settings)
    click.echo(f"{count} constraints and indexes exist (schema version {schema.VERSION})")


@graph.command()
def schema() -> None:
    """Print the graph's model, its constraints and indexes, and example questions in Cypher."""
    from headwater_graph.queries.free_cypher.recipes import model, recipes
    from headwater_graph.store.statements import cypher

    shown = [recipe.shown() + ";" for recipe in recipes()]
    head = f"// {len(shown)} questions for `headwater cypher`; give the parameters, which begin with $, with -p."
    click.echo("\n\n".join([model(), cypher("schema").strip(), head, *shown]))


@graph.command()
def dump() -> None:
    """Print the whole graph as sorted JSON lines, the canonical dump (specification 9).

    Exit code 1 while there is deferred work: the dump would not be final.
    """
    from headwater_graph.audit.dump import dump as dump_lines

    with _store() as store:
        if store.has_deferred_work():
            raise HeadwaterError(
                "the graph has deferred work, which a running `headwater consume` does: try again later"
            )
        for line in dump_lines(store):
            sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


@graph.command()
@click.option("--limit", default=100, show_default=True, help="The most differences to print.")
def check(limit: int) -> int:
    """Derive the graph again from its records and list what differs; exit code 1 if anything does.

    ``-`` is what follows from the records and the graph lacks, ``+`` what only the graph has.
    """
    from headwater_graph.audit.check import check as differences

    count = 0
    with _store() as store:
        for count, difference in enumerate(differences(store), 1):
            if count <= limit:
                click.echo(f"{difference.sign} {difference.line.decode()}", nl=False)
    if count > limit:
        click.echo(f"… and {count - limit} more (--limit {count} shows all)")
    click.echo(f"{count} differences" if count else "the graph agrees with its records", err=True)
    return 1 if count else 0


@graph.command()
def rebuild() -> None:
    """Derive everything in the graph again from its records.

    A consumer waits meanwhile. If the rebuild is interrupted, run it again.
    """
    from headwater_graph.audit.rebuild import rebuild as derive_again

    def report(step: str, count: int) -> None:
        click.echo(f"\r{step}: {count}   ", nl=False, err=True)

    with _store() as store:
        made = derive_again(store, progress=report)
    click.echo(err=True)
    click.echo(f"derived again from {made.runs_and_events} runs and events, {made.jobs} jobs, {made.datasets} datasets")
