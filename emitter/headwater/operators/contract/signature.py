"""Calls of lineage methods, with or without the task instance, depending on their signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headwater_avro.errors import ConfigError

_NAMES = ("ti", "task_instance")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def call_with_ti(method: Callable[..., Any], ti: object) -> Any:
    """Return the method's result; ``ti`` is passed as ``ti`` or ``task_instance``, else as the first parameter, if any.

    Operators for Airflow's provider have an ``on_start`` without parameters. Raise ``ConfigError`` for a method with other
    required parameters, and the exceptions of the method.
    """
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):
        # Callables in C may have no signature; the contract of docs/operators.md applies.
        return method(ti)
    needed = [p for p in parameters if p.default is p.empty and p.kind in (*_POSITIONAL, p.KEYWORD_ONLY)]
    if len(needed) > 1:
        raise ConfigError(f"{method.__qualname__} needs {', '.join(p.name for p in needed)}; only ti is passed")
    keyword = next((p.name for p in parameters if p.name in _NAMES and p.kind is not p.POSITIONAL_ONLY), None)
    if keyword and (not needed or needed[0].name == keyword):
        return method(**{keyword: ti})
    if any(p.kind in (*_POSITIONAL, p.VAR_POSITIONAL) for p in parameters):
        return method(ti)
    return method(ti=ti) if any(p.kind is p.VAR_KEYWORD for p in parameters) else method()
