"""Options and arguments that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from .completion import names_of

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
bootstrap_option = click.option("--kafka-bootstrap-servers", metavar="HOST:PORT", help="Kafka's addresses.")
topic_option = click.option("--kafka-topic", metavar="TOPIC", help="The topic of events.")


def key_argument(*kinds: str) -> Callable[[Command], Command]:
    """Return the argument ``key``, the terms that name a dataset or job, with completion of names of these kinds."""
    return click.argument("key", nargs=-1, required=True, shell_complete=names_of(*kinds))


def limit_option(default: int, most: int, text: str | None = None) -> Callable[[Command], Command]:
    """Return the option ``--limit``, of at least 1."""
    return click.option("--limit", type=click.IntRange(1, most), default=default, show_default=True, help=text)
