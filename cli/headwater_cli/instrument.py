"""``headwater instrument JOB.py [args]``: run a PySpark job with its lineage told."""

from __future__ import annotations

import sys

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a PySpark job with its lineage told.",
)
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def instrument(job: str, args: tuple[str, ...]) -> None:
    """Run JOB with its arguments, in this process, as ``python JOB args`` would; its exit code is this command's.

    Events go where openlineage-python's or headwater's settings say.
    """
    from headwater.spark.program import run

    sys.exit(run(job, args))
