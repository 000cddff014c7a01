"""``headwater instrument JOB.py [args]``: run a PySpark job and emit its lineage."""

from __future__ import annotations

import sys

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a PySpark job and emit its lineage.",
)
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def instrument(job: str, args: tuple[str, ...]) -> None:
    """Run JOB with its arguments as ``python JOB args`` would, and emit its lineage; the exit code is that of JOB.

    The settings of openlineage-python or headwater say where events are sent.
    """
    from headwater.spark.program import run

    sys.exit(run(job, args))
