"""``headwater tokens``: tokens of the HTTP server with names and scopes, in a file of hashes."""

from __future__ import annotations

from pathlib import Path

import click

FILE = "FILE is what HEADWATER_WEB_TOKENS_FILE names."


@click.group()
def tokens() -> None:
    """Make and list tokens of `headwater serve`, each with a name and scopes, stored as hashes."""


@tokens.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["read", "cypher", "ingest", "redrive", "admin"]),
    help="What the token allows; repeat the option for several.",
)
@click.option(
    "--file", "path", type=click.Path(dir_okay=False, path_type=Path), help=f"Append the line to FILE. {FILE}"
)
def new(name: str, scopes: tuple[str, ...], path: Path | None) -> None:
    """Print a new token, once, and its line for the file of tokens (or append the line with --file).

    The token itself is not stored anywhere.
    """
    from headwater_web.tokens import add_token, made_token

    token, made = made_token(name, scopes)
    if path is not None:
        add_token(path, made)
    click.echo(token)
    click.echo(
        made.line() if path is None else f"its hash is in {path}; restart `headwater serve`", err=path is not None
    )


@tokens.command("list")
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def list_(path: Path) -> None:
    """List names and scopes of the tokens in a file, and check the file."""
    from headwater_web.tokens import SCOPES, read_tokens

    for token in read_tokens(path):
        click.echo(f"{token.holder.name} {','.join(scope for scope in SCOPES if scope in token.holder.scopes)}")
