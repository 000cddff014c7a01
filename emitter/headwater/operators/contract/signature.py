"""Calling a lineage method with or without the task instance, as its signature asks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headwater_avro.errors import ConfigError

_NAMES = ("ti", "task_instance")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def call_with_ti(method: Callable[..., Any], ti: object) -> Any:
    """Call the method with ``ti`` if it takes one: by the names `ti` or `task_instance`, else as its first parameter.

    The seed gives ``ti`` to both methods, Airflow's provider calls ``on_start`` without arguments; operators of
    either kind work. Raises `ConfigError` for a method that needs more than that, and what the method raises.
    """
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):
        # Callables in C may tell no signature; the seed's contract is then the best guess.
        return method(ti)
    needed = [
        each for each in parameters if each.default is each.empty and each.kind in (*_POSITIONAL, each.KEYWORD_ONLY)
    ]
    if len(needed) > 1:
        raise ConfigError(
            f"{method.__qualname__} needs {', '.join(each.name for each in needed)}; it is given ti alone"
        )
    keyword = next(
        (each.name for each in parameters if each.name in _NAMES and each.kind is not each.POSITIONAL_ONLY), None
    )
    if keyword and (not needed or needed[0].name == keyword):
        return method(**{keyword: ti})
    if any(each.kind in (*_POSITIONAL, each.VAR_POSITIONAL) for each in parameters):
        return method(ti)
    return method(ti=ti) if any(each.kind is each.VAR_KEYWORD for each in parameters) else method()
