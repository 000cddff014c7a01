"""Calls of lineage methods, with or without the task instance, depending on their signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headwater_avro.errors import ConfigError

_NAMES = ("ti", "task_instance")


def call_with_ti(method: Callable[..., Any], ti: object) -> Any:
    """Return the method's result; ``ti`` is passed as ``ti`` or ``task_instance``, else as the first parameter, if any.

    Operators for Airflow's provider have an ``on_start`` without parameters. Raise ``ConfigError`` for a method with other
    required parameters, and the exceptions of the method.
    """
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        # Callables in C may have no signature; the contract of docs/operators.md applies.
        return method(ti)
    parameters = signature.parameters.values()
    ways: list[tuple[Any, dict[str, object]]] = [((), {p.name: ti}) for p in parameters if p.name in _NAMES]
    for args, kwargs in (*ways, ((ti,), {}), ((), {"ti": ti}), ((), {})):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            continue
        return method(*bound.args, **bound.kwargs)
    needed = ", ".join(p.name for p in parameters if p.default is p.empty)
    raise ConfigError(f"{method.__qualname__} needs {needed}; only ti is passed")
