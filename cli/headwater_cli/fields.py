"""``headwater fields``: field lineage from operations in a file."""

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
@click.option(
    "--implicit-identity",
    is_flag=True,
    help="Let input fields feed schema fields of the same name that no operation makes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer on one line.")
def resolve(file: Path, implicit_identity: bool, as_json: bool) -> int:
    """Print, as JSON, from which fields the operations in FILE (- for standard input) derive their outputs.

    FILE contains one case: an object with a level (platform, pipeline, stage-validation, join-operations, seed,
    openlineage) and its operations. Operations that contradict themselves give {"error": {"kind", "culprits"}}
    and exit code 1; a file that is not a case gives exit code 2.
    """
    case = _read(file)
    if implicit_identity:
        case["implicit_identity"] = True
    try:
        resolved = answer(case)
    except InvalidLineage as fault:
        _print({"error": {"kind": fault.kind, "culprits": list(fault.culprits)}}, as_json)
        click.echo(f"headwater: {fault}", err=True)
        return 1
    for line in resolved.pop("cut", ()):
        click.echo(f"headwater: cut: {line}", err=True)
    _print(resolved, as_json)
    return 0


def _read(file: Path) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        case = json.loads(text)
    except (OSError, ValueError, RecursionError) as fault:
        raise ConfigError(f"can't read a case from {file}: {fault}") from fault
    if not isinstance(case, dict):
        raise ConfigError(f"{file} is not a case: write a JSON object with a level")
    return case


def _print(value: dict[str, Any], compact: bool) -> None:
    click.echo(json.dumps(value, indent=None if compact else 1))
