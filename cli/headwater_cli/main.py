"""The ``headwater`` command: a table of commands, each imported when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import click

from headwater_avro.errors import ConfigError, HeadwaterError

# command -> (the module, which has it under its name, the extra with its dependencies, one line for --help).
# The line is here so that --help imports nothing.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "local", "Run example jobs on local servers and show their lineage."),
    "up": ("stack", "local", "Start the local Kafka and Neo4j."),
    "down": ("stack", "local", "Stop the local Kafka and Neo4j."),
    "status": ("stack", "local", "Show whether the local servers run, and their addresses."),
    "doctor": ("operations.doctor", "graph", "Show every setting with its source, and check the servers."),
    "consume": ("operations.consume", "consumer", "Read events from Kafka and write the graph."),
    "emit": ("emit", "", "Send the events in a file to Kafka."),
    "spool": ("emit", "", "List or send the events that emitters have spooled to disk."),
    "instrument": ("instrument", "", "Run a PySpark job and emit its lineage."),
    "lineage": ("queries.lineage", "graph", "Show what feeds a dataset, job or column, and what it feeds."),
    "run": ("queries.run", "graph", "List, show and compare runs."),
    "job": ("queries.job", "graph", "Show jobs and their versions; retire one."),
    "dataset": ("queries.dataset", "graph", "Show datasets and their versions."),
    "overview": ("queries.overview", "graph", "Show how much is in the graph, and what may need attention."),
    "search": ("queries.search", "graph", "Find datasets, jobs, columns and runs by name."),
    "report": ("queries.report", "graph", "Report what is missing, silent, stale or in conflict."),
    "cypher": ("queries.cypher", "graph", "Query the graph in Cypher, read-only."),
    "graph": ("operations.graph", "graph", "Create, migrate, dump, check and rebuild the graph."),
    "dlq": ("operations.dlq", "consumer", "List, show and send back dead letters."),
    "archive": ("operations.archive", "consumer", "Store every message of the topic in files."),
    "replay": ("operations.archive", "consumer", "Send the messages of an archive or topic again."),
    "export": ("queries.export", "graph", "Write the graph as OpenLineage events."),
    "serve": ("operations.serve", "web", "Serve the graph, and accept events, over HTTP."),
    "keys": ("operations.keys", "", "Make, list and check the keys with which producers sign."),
    "tokens": ("operations.tokens", "web", "Make and list tokens of the HTTP server."),
    "mcp": ("operations.mcp", "mcp", "Answer an agent's questions (Model Context Protocol)."),
    "completion": ("completion", "", "Print the script for completion in the shell."),
    "fields": ("fields", "", "Resolve recorded field operations."),
}


class Commands(click.Group):
    """A click group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        return None if entry is None else _load(cmd_name, *entry[:2])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


def _load(name: str, module: str, extra: str) -> click.Command:
    try:
        command = getattr(importlib.import_module(f"headwater_cli.{module}"), name)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0].startswith("headwater"):
            raise
        package = f"headwater[{extra}]" if extra else "headwater"
        raise ConfigError(f"`headwater {name}` needs {missing.name}: pip install '{package}'") from missing
    assert isinstance(command, click.Command)
    return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headwater")
def headwater() -> None:
    """Data lineage from OpenLineage events: what feeds what, now and run by run."""


def main() -> NoReturn:
    """Run the command line; exit code 0 for yes, 1 for no, 2 for wrong usage, 3 if a server is unavailable."""
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
        # The reader (head, less) has closed the pipe; Python would raise again at exit.
        sys.stdout = None
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)
