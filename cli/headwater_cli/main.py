"""The ``headwater`` command: a table of commands, each imported when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import click

from headwater_avro.errors import ConfigError, HeadwaterError

# command -> (where it lives, the extra that brings what it imports, one line for --help).
# The line stands here so that --help imports nothing.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("headwater_cli.demo:demo", "local", "Run real jobs through real servers and show their lineage."),
    "up": ("headwater_cli.stack:up", "local", "Start the local Kafka and Neo4j."),
    "down": ("headwater_cli.stack:down", "local", "Stop the local Kafka and Neo4j."),
    "status": ("headwater_cli.stack:status", "local", "Tell whether the local servers run, and where."),
    "doctor": ("headwater_cli.doctor:doctor", "graph", "Show every setting, where it came from, and what answers."),
    "consume": ("headwater_cli.consume:consume", "consumer", "Read events from Kafka and keep the graph."),
    "emit": ("headwater_cli.emit:emit", "", "Send events from a file, each line unchanged."),
    "spool": ("headwater_cli.emit:spool", "", "List or send what an emitter kept on disk."),
    "instrument": ("headwater_cli.instrument:instrument", "", "Run a PySpark job with its lineage told."),
    "lineage": ("headwater_cli.lineage:lineage", "graph", "What feeds a dataset or column, and what it feeds."),
    "run": ("headwater_cli.run:run", "graph", "List, show and compare runs."),
    "job": ("headwater_cli.job:job", "graph", "Show jobs and their versions; retire one."),
    "dataset": ("headwater_cli.dataset:dataset", "graph", "Show datasets and their versions."),
    "search": ("headwater_cli.search:search", "graph", "Find datasets, jobs and columns by a part of their names."),
    "report": ("headwater_cli.report:report", "graph", "What is missing, silent, stale or in conflict."),
    "cypher": ("headwater_cli.cypher:cypher", "graph", "Ask the graph in Cypher, read-only."),
    "graph": ("headwater_cli.graph:graph", "graph", "Make, dump, check and rebuild the graph."),
    "dlq": ("headwater_cli.dlq:dlq", "consumer", "List, show and send back dead letters."),
    "archive": ("headwater_cli.archive:archive", "consumer", "Keep every message of the topic in files by day."),
    "replay": ("headwater_cli.archive:replay", "consumer", "Send an archive or a topic to the topic again."),
    "export": ("headwater_cli.export:export", "graph", "Tell the graph again as OpenLineage events."),
    "serve": ("headwater_cli.serve:serve", "web", "Serve the graph and take events over HTTP."),
    "completion": ("headwater_cli.completion:completion", "", "Print the script for completion on Tab."),
    "fields": ("headwater_cli.fields:fields", "", "Resolve recorded field operations."),
}


class Commands(click.Group):
    """A click group whose members are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        return None if entry is None else _load(cmd_name, *entry[:2])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


def _load(name: str, target: str, extra: str) -> click.Command:
    module, attribute = target.split(":")
    try:
        command = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0].startswith("headwater"):
            raise
        where = f"headwater[{extra}]" if extra else "headwater"
        raise ConfigError(f"`headwater {name}` needs {missing.name}: pip install '{where}'") from missing
    assert isinstance(command, click.Command)
    return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headwater")
def headwater() -> None:
    """Data lineage that gets it right: what feeds what, run by run and now."""


def main() -> NoReturn:
    """Run the command line: exit 0 yes, 1 no, 2 wrong use, 3 a server is not there."""
    try:
        result = headwater.main(prog_name="headwater", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as fault:
        fault.show()
        sys.exit(fault.exit_code)
    except HeadwaterError as fault:
        click.echo(f"headwater: {fault}", err=True)
        sys.exit(fault.exit_code)
    except BrokenPipeError:
        # The reader (head, less) has what it wanted; python would complain again at exit otherwise.
        sys.stdout = None
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)
