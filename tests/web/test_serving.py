"""``headwater serve`` and the page at the end of the demo, as processes."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

from headwater_avro.errors import HeadwaterError
from headwater_cli.demo_page import show_page

from ..servers import Servers, servers

__all__ = ["servers"]

pytestmark = pytest.mark.end_to_end
REPORT = ("file", "/a b/revenue&.csv")
ADDRESS = re.compile(
    r"http://127\.0\.0\.1:(\d+)/lineage\?kind=dataset&namespace=file&name=%2Fa\+b%2Frevenue%26\.csv\r?\n"
)
PATIENCE = 120.0
SHOW = """
import sys, os
from pathlib import Path
from headwater_cli.demo_page import show_page
show_page(Path(sys.argv[1]), os.environ, ("file", "/a b/revenue&.csv"), sys.stdout.isatty())
"""


@pytest.fixture
def environment(servers: Servers) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    return others | {
        "HEADWATER_NEO4J_URI": servers.neo4j_uri,
        "HEADWATER_NEO4J_USER": servers.neo4j_user,
        "HEADWATER_NEO4J_PASSWORD": servers.neo4j_password,
    }


def page_at(port: int) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/lineage")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200
    return body


def is_open(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_without_a_terminal_the_page_is_checked_and_ended(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_page(tmp_path / "logs" / "serve.log", environment, REPORT, is_terminal=False)
    found = ADDRESS.search(capsys.readouterr().out)
    assert found is not None
    assert not is_open(int(found[1]))


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_on_a_terminal_the_page_is_served_until_it_is_ended(
    environment: dict[str, str], tmp_path: Path, ending: signal.Signals
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", SHOW, str(tmp_path / "serve.log")]
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as demo:
        try:
            os.close(theirs)
            shown = ""
            while "Ctrl-C" not in shown:
                shown += os.read(ours, 4_096).decode()
            found = ADDRESS.search(shown)
            assert found is not None, shown
            assert b"<title>headwater</title>" in page_at(int(found[1]))
            demo.send_signal(ending)
            assert demo.wait(PATIENCE) == 0
        finally:
            demo.kill()
            os.close(ours)
    assert not is_open(int(found[1]))


def test_a_server_that_does_not_start_is_an_error_with_its_log(environment: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(HeadwaterError, match="HEADWATER_WEB_MAX_NODES"):
        show_page(tmp_path / "serve.log", environment | {"HEADWATER_WEB_MAX_NODES": "-1"}, REPORT, is_terminal=False)


def test_serve_prints_the_address_of_the_page_and_ends_with_sigterm(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "headwater_cli", "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            found = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+); the page is http://127\.0\.0\.1:\1/\n", line)
            assert found is not None, line
            assert b"<title>headwater</title>" in page_at(int(found[1]))
            taken = [*command[:-1], found[1]]
            assert (
                subprocess.run(taken, env=environment, capture_output=True, timeout=PATIENCE, check=False).returncode
                == 3
            )
        finally:
            server.terminate()
    assert not is_open(int(found[1]))
