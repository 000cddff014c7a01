"""``headwater fields``: field lineage from operations written down in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from headwater.fields.cases import answer
from headwater.fields.model.problems import InvalidLineage
from headwater_avro.errors import ConfigError


@click.group()
def fields() -> None:
    """Resolve recorded field operations."""


@fields.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--implicit-identity", is_flag=True, help="Let schema fields that no operation makes pass by name.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer on one line.")
def resolve(file: Path, implicit_identity: bool, as_json: bool) -> int:
    """Print what the operations in FILE (- for standard input) make of which fields, as JSON.

    FILE holds one case: an object with a level (platform, pipeline, stage-validation, join-operations, seed,
    openlineage) and its operations. Operations that contradict themselves give {"error": {"kind", "culprits"}}
    and exit code 1; a file that is no case gives exit code 2.
    """
    case = _read(file)
    if implicit_identity:
        case["implicit_identity"] = True
    try:
        told = answer(case)
    except InvalidLineage as fault:
        _print({"error": {"kind": fault.kind, "culprits": list(fault.culprits)}}, as_json)
        click.echo(f"headwater: {fault}", err=True)
        return 1
    for line in told.pop("cut", ()):
        click.echo(f"headwater: cut: {line}", err=True)
    _print(told, as_json)
    return 0


def _read(file: Path) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        case = json.loads(text)
    except (OSError, ValueError, RecursionError) as fault:
        raise ConfigError(f"can't read a case from {file}: {fault}") from fault
    if not isinstance(case, dict):
        raise ConfigError(f"{file} holds no case: a case is a JSON object with a level")
    return case


def _print(told: dict[str, Any], on_one_line: bool) -> None:
    click.echo(json.dumps(told, indent=None if on_one_line else 1))
