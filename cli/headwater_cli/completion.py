"""``headwater completion``: completion in the shell, with the names in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from click.shell_completion import CompletionItem, get_completion_class

from headwater_avro.errors import HeadwaterError

SHELLS = ("bash", "zsh", "fish")
MOST = 50
PATIENCE = 1.0
"""Seconds to connect to the graph, and to wait for its answer: nobody waits longer for a completion."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes `headwater` on Tab: commands, options, and names of datasets, jobs and runs.

    \b
    bash:  eval "$(headwater completion bash)"     in ~/.bashrc
    zsh:   eval "$(headwater completion zsh)"      in ~/.zshrc
    fish:  headwater completion fish > ~/.config/fish/completions/headwater.fish
    """
    from .main import headwater

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(headwater, {}, "headwater", "_HEADWATER_COMPLETE").source())


def names_of(*kinds: str) -> Complete:
    """Return what completes the name of a dataset or job, alone or after its namespace; nothing if the graph is unreachable."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before = ctx.params.get(param.name or "") if param.nargs == -1 else ()
        namespace, sign, prefix = incomplete.rpartition("#")
        if before:
            namespace, sign, prefix = str(before[-1]), "", incomplete
        found = [key for kind in kinds for key in _found(f"find/{kind}s_by_prefix", namespace or None, prefix)]
        return [CompletionItem(text) for text in _completions(found, namespace if sign else None, within=bool(before))]

    return complete


def runs(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of a run."""
    return [CompletionItem(row["id"]) for row in _rows("runs/by_prefix", prefix=incomplete, limit=MOST)]


def _found(question: str, namespace: str | None, prefix: str) -> list[tuple[str, str]]:
    rows = _rows(question, namespace=namespace, prefix=prefix, limit=MOST)
    return [(row["namespace"], row["name"]) for row in rows]


def _completions(found: Sequence[tuple[str, str]], namespace: str | None, *, within: bool) -> list[str]:
    """Return what completes to each: its name if that is unambiguous, else ``namespace#name``."""
    if namespace is not None:
        return [f"{namespace}#{name}" for _, name in found]
    names = [name for _, name in found]
    return [name if within or names.count(name) == 1 else f"{space}#{name}" for space, name in found]


def _rows(question: str, **parameters: object) -> list[dict[str, str]]:
    from headwater_graph.queries.reader import Neo4jReader

    from .querying import graph_location

    try:
        found = graph_location().model_copy(update={"connect_timeout": PATIENCE, "read_timeout": PATIENCE})
        with Neo4jReader(found) as reader:
            return [dict(row) for row in reader.rows(question, **parameters)]
    except HeadwaterError:
        # A message would be printed into the line that the user types.
        return []
