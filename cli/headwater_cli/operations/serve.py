"""``headwater serve``: the HTTP API and the ingest gateway."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from headwater_consumer.config import NOT_SET, ConsumerSettings
from headwater_consumer.kafka.brokers import Client, client_of, end_offsets
from headwater_consumer.kafka.dead_letter_report import letter_report
from headwater_consumer.kafka.redrive import Redriven, redrive_chosen
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import Neo4jReader

from ..querying import graph_location
from .consume import settings_of

if TYPE_CHECKING:
    import socket

    from fastapi import FastAPI

    from headwater_web import EventSink, WebSettings
    from headwater_web.dead_letters_api import Choice

STARTUP_FAILURE = 3
"""The exit code if the server cannot listen, that of uvicorn."""


@click.command()
@click.option("--host", help="Where to listen; loopback unless tokens are set.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Where to listen; 0: any free port.")
def serve(host: str | None, port: int | None) -> None:
    """Serve the graph over HTTP, with a page for browsers, and accept OpenLineage events for Kafka, until SIGTERM or Ctrl-C.

    HEADWATER_WEB_HOST, _PORT, _TOKENS, _ALLOWED_HOSTS and _CORS_ORIGINS (JSON lists) are its settings. Without tokens it answers
    requests of this machine alone.
    """
    from headwater_web import create_app
    from headwater_web.settings import web_settings

    given = {"host": host, "port": port}
    settings = web_settings(**{name: value for name, value in given.items() if value is not None})
    found = settings_of({}, needs=frozenset()).settings
    client = None if found.kafka_bootstrap_servers == NOT_SET else client_of(found)
    with Neo4jReader(graph_location()) as reader:
        app = create_app(
            reader,
            _sink(found, settings),
            settings,
            letters=None if client is None else lambda: letter_report(client, found.dead_letter_topic),
            cypher=_cypher(reader, settings),
            ends=None if client is None else lambda topics: {topic: end_offsets(client, topic) for topic in topics},
            redrive=None if client is None else lambda choice: _redriven(client, found.dead_letter_topic, choice),
        )
        _run(app, settings)


def _redriven(client: Client, topic: str, choice: Choice) -> Redriven:
    return redrive_chosen(client, topic, choice.code, choice.identities())


def _run(app: FastAPI, settings: WebSettings) -> None:
    """Run the application, and print its address when it listens."""
    import uvicorn

    from headwater_web.listening import log_to_stderr, uvicorn_options

    log_to_stderr()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                # The port of the socket: the setting may be 0.
                address = _address(settings.host, self.servers[0].sockets[0].getsockname()[1])
                click.echo(f"listening on {address}; the page is {address}/", err=True)

    server = Server(uvicorn.Config(app, **uvicorn_options(settings)))
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _cypher(reader: Neo4jReader, settings: WebSettings) -> FreeCypher | None:
    if not settings.cypher_timeout:
        return None
    setting = "HEADWATER_WEB_CYPHER_TIMEOUT"
    return FreeCypher(
        reader, settings.cypher_timeout, settings.cypher_rows, setting, strangers=True, bytes=settings.cypher_bytes
    )


def _sink(found: ConsumerSettings, settings: WebSettings) -> EventSink:
    from headwater_web import DisabledSink, KafkaSink

    if found.kafka_bootstrap_servers == NOT_SET:
        return DisabledSink()
    client = {"bootstrap.servers": found.kafka_bootstrap_servers, **found.librdkafka()}
    return KafkaSink(client, found.kafka_topic, settings)
