"""The blocks of the documents about keys, tokens and encrypted connections are run as they are shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import KAFKA_PASSWORD, NEO4J_PASSWORD, Secured, Shell

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, heading: str, language: str) -> list[str]:
    """Return the blocks of a language in a section of a page."""
    section = re.split(
        r"^#", (DOCS / page).read_text().partition(f"### {heading}\n")[2], maxsplit=1, flags=re.MULTILINE
    )[0]
    # A comment of a block begins a line with # too, so blocks are complete only if none is cut.
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.mark.parametrize(
    ("page", "heading", "expected"),
    [
        ("operate.md", "Signed messages", "shop shop shop-*\nallowed\n"),
        ("ask.md", "Tokens", "etl ingest\nada read,cypher\n"),
    ],
)
def test_the_commands_of_a_section_run(page: str, heading: str, expected: str, tmp_path: Path) -> None:
    (block,) = blocks(page, heading, "sh")
    # The server runs until it is stopped: other tests start it with such a file.
    lines = [line for line in block.splitlines() if "headwater serve" not in line]
    script = f'set -e\nheadwater() {{ "{sys.executable}" -m headwater_cli "$@"; }}\n' + "\n".join(lines)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(expected)


@pytest.mark.end_to_end
def test_the_settings_of_encrypted_connections_reach_the_servers(secured: Secured, tmp_path: Path) -> None:
    scram, mutual = (
        dict(line.split("=", 1) for line in block.splitlines())
        for block in blocks("operate.md", "Encrypted connections", "ini")
    )
    here = {
        "kafka.example.org:9093": secured.kafka.scram,
        "kafka.example.org:9094": secured.kafka.mutual,
        "bolt+s://neo4j.example.org:7687": f"bolt+s://{secured.neo4j}",
        "/etc/headwater/ca.crt": str(secured.authority.certificate),
        "/etc/headwater/client.pem": str(secured.authority.sign("client")),
    }
    passwords = {"HEADWATER_KAFKA_SASL_PASSWORD": KAFKA_PASSWORD, "HEADWATER_NEO4J_PASSWORD": NEO4J_PASSWORD}
    for settings in (scram, scram | mutual):
        given = {name: passwords.get(name, here.get(value, value)) for name, value in settings.items()}
        if settings is not scram:
            given = {name: value for name, value in given.items() if "SASL" not in name or value == "SSL"}
        doctor = Shell(given, tmp_path).headwater("doctor").stdout
        assert "answers (cluster " in doctor or f"answers at {given['HEADWATER_KAFKA_BOOTSTRAP_SERVERS']}" in doctor
        assert f"answers at {given['HEADWATER_NEO4J_URI']}" in doctor
