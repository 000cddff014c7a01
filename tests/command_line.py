"""The command `headwater` against the servers of the tests, as a user types it."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from headwater_cli.main import main

from .servers import Servers


class Printed(NamedTuple):
    """Exit code, what came out, and what was complained about."""

    code: int
    out: str
    err: str


def headwater(servers: Servers, *words: str) -> Printed:
    """Run a command in this process, with the graph of the servers as its graph."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("HEADWATER_NEO4J_URI", servers.neo4j_uri)
        patch.setenv("HEADWATER_NEO4J_USER", servers.neo4j_user)
        patch.setenv("HEADWATER_NEO4J_PASSWORD", servers.neo4j_password)
        patch.setattr(sys, "argv", ["headwater", *words])
        with pytest.raises(SystemExit) as end:
            main()
    return Printed(int(end.value.code or 0), out.getvalue(), err.getvalue())
