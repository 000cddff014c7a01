"""The end of the demo: a server with the page, on the graph that the demo has made."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import click

from headwater_avro.errors import HeadwaterError

START_SECONDS = 60.0
"""Seconds that the server has to answer."""
STOP_SECONDS = 30.0
_ADDRESS = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


def show_page(log: Path, environment: Mapping[str, str], dataset: tuple[str, str], is_terminal: bool) -> None:
    """Serve the page and print the address of a dataset's lineage; on a terminal until Ctrl-C, else end at once.

    ``log`` receives the output of the server. Raises HeadwaterError if the server does not answer.
    """
    with _server(log, environment) as (server, port):
        namespace, name = dataset
        query = urlencode({"kind": "dataset", "namespace": namespace, "name": name})
        click.echo(f"\n{click.style('The page, with the lineage of the report:', bold=True)}")
        click.echo(f"  http://127.0.0.1:{port}/lineage?{query}")
        if is_terminal:
            click.echo("Ctrl-C ends the page; the servers keep running, and `headwater serve` starts it again.")
            _wait(server)
        else:
            click.echo("The server has ended, because this is not a terminal; `headwater serve` starts it again.")


@contextmanager
def _server(log: Path, environment: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run ``headwater serve`` on a free port; yield it and the port as soon as the page answers."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "headwater_cli", "serve", "--host", "127.0.0.1", "--port", "0"]
    with log.open("w") as output:
        # In a session of its own it does not receive the Ctrl-C of the terminal, so that it is ended in one way.
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        yield server, _port(server, log)
    finally:
        server.terminate()
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _port(server: subprocess.Popen[bytes], log: Path) -> int:
    """Return the port of the server once the page answers there; raises HeadwaterError with the end of the log."""
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        found = _ADDRESS.search(log.read_text(errors="replace"))
        if found is not None and _answers(int(found[1])):
            return int(found[1])
        time.sleep(0.1)
    tail = "\n  ".join(log.read_text(errors="replace").splitlines()[-8:])
    raise HeadwaterError(f"the page does not answer; the log of the server is {log}:\n  {tail}")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def _wait(server: subprocess.Popen[bytes]) -> None:
    """Wait for Ctrl-C, SIGTERM or the end of the server."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.wait()
    except KeyboardInterrupt:
        click.echo()
    finally:
        signal.signal(signal.SIGTERM, before)
