"""``headwater job``: show a job and its versions with the reason for each, and retire it."""

from __future__ import annotations

import json

import click

from headwater.transport.send_and_wait import message_of_line, send_all
from headwater_avro.errors import ServerUnavailable
from headwater_avro.metadata_events import retiring_event
from headwater_graph.queries.catalog.finding import find
from headwater_graph.queries.presentation.catalog_texts import JOB_VERSION_HEAD, job_version_cells, version_diff_lines
from headwater_graph.queries.presentation.formats import json_text, listing
from headwater_graph.queries.runs.history import (
    JobVersionLine,
    job_versions,
    two_versions,
    version_diff,
)

from ..emit import connected, settings
from ..options import bootstrap_option, json_option, key_argument, limit_option, topic_option
from ..querying import format_options, now, paint, say, the_graph
from .dataset import show_command

MOST = 10_000
PRODUCER = "urn:headwater:cli"


@click.group()
def job() -> None:
    """Show a job, its versions and what changed; retire it.

    KEY is `namespace name`, `namespace#name` or any unambiguous tail of a name.
    """


job.add_command(show_command("job", "Show a job: what it reads and writes, and its facets."))


@job.command("versions")
@key_argument("job")
@limit_option(50, MOST)
@format_options("table", "json", "csv")
def versions_command(key: tuple[str, ...], limit: int, form: str) -> None:
    """List the versions of a job, the newest first, each with the reason for it."""
    with the_graph() as graph:
        lines = job_versions(graph, find(graph, key, ("job",)), limit)
    more = bool(lines) and not lines[-1].oldest
    value = {"versions": [line.value() for line in lines], "more": more}
    rows, note = [job_version_cells(line) for line in lines], "there are more (--limit N)" if more else ""
    say(
        listing(
            form,
            value,
            JOB_VERSION_HEAD,
            rows,
            empty="no version: no run of this job has ended",
            more=note,
            paint=paint(),
        )
    )


@job.command("diff")
@key_argument("job")
@click.option(
    "--from",
    "first",
    metavar="VERSION",
    help="A number or the beginning of an id [default: the version before the other one].",
)
@click.option(
    "--to", "last", metavar="VERSION", help="A number or the beginning of an id [default: the current version]."
)
@format_options("text", "json")
def diff_command(key: tuple[str, ...], first: str | None, last: str | None, form: str) -> None:
    """Show what differs between two versions of a job, by default the current one and the one before it."""
    with the_graph() as graph:
        versions = job_versions(graph, find(graph, key, ("job",)), MOST)
    say(_diff_text(*two_versions(versions, first, last), form))


def _diff_text(before: JobVersionLine, after: JobVersionLine, form: str) -> str:
    if form == "json":
        return json_text(version_diff(before, after))
    return "\n".join(version_diff_lines(before, after))


@job.command("retire")
@key_argument("job")
@click.option("--reason", help="The reason, stored with the job.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@bootstrap_option
@topic_option
@json_option
def retire_command(
    key: tuple[str, ...],
    reason: str | None,
    yes: bool,
    kafka_bootstrap_servers: str | None,
    kafka_topic: str | None,
    as_json: bool,
) -> None:
    """Remove a job that is no longer in use from the current graph, by sending an event.

    Its runs and versions stay. A later run of the job brings it back.
    """
    with the_graph() as graph:
        found = find(graph, key, ("job",))
    if not yes:
        click.confirm(f"Remove job {' '.join(found.name)} from the current graph?", abort=True, err=True)
    config = settings(kafka_bootstrap_servers, kafka_topic)
    event = retiring_event(PRODUCER, (found.name[0], found.name[1]), now(), reason)
    outcome = send_all(connected(config), [(1, message_of_line(json.dumps(event).encode()))])
    if outcome.delivered != 1:
        why = next((why for _, why in (*outcome.unavailable, *outcome.refused)), "no acknowledgement")
        raise ServerUnavailable("Kafka", config.bootstrap_servers, why)
    if as_json:
        say(json.dumps({"job": list(found.name), "topic": config.topic}))
    else:
        say(f"job {' '.join(found.name)} is retired in {config.topic}, and in the graph once the consumer has read it")
