"""Resolution of templates in the names of datasets, when an event is created.

An operator that builds a dataset's name from a templated attribute may be called before its scheduler has rendered it. The
host's own renderer is used if it has one (Airflow's ``operator.render_template``), else Jinja if it is installed, else a
lookup of ``{{ dotted.names }}`` in the context.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Any

_TEMPLATE = re.compile(r"\{\{|\{%")
_NAME = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")


class Unresolved(Exception):
    """Raised for a template that cannot be resolved; the message has the reason."""


def renderer(operator: object, ti: object, context: Mapping[str, Any] | None = None) -> Callable[[str], str]:
    """Return a function that resolves the templates in a text, or raises ``Unresolved``; other text is unchanged."""

    def render(text: str) -> str:
        if not _TEMPLATE.search(text):
            return text
        try:
            rendered = _render(text, operator, _context(ti, context))
        except Exception as fault:
            raise Unresolved(f"has a template that cannot be resolved ({type(fault).__name__}: {fault})") from fault
        if _TEMPLATE.search(rendered):
            raise Unresolved("has a template that resolves to another template")
        return rendered

    return render


def _context(ti: object, context: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if context is not None:
        return context
    getter = getattr(ti, "get_template_context", None)
    return getter() if callable(getter) else {}


def _render(text: str, operator: object, context: Mapping[str, Any]) -> str:
    own = getattr(operator, "render_template", None)
    if callable(own):
        return str(own(text, context))
    if importlib.util.find_spec("jinja2"):
        jinja2: Any = importlib.import_module("jinja2")
        # Names of tables are not HTML: escaping would change them.
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
        return str(environment.from_string(text).render(context))
    return _NAME.sub(lambda match: str(_lookup(match[1], context)), text)


def _lookup(path: str, context: Mapping[str, Any]) -> object:
    value: Any = context
    for part in path.split("."):
        value = value[part] if isinstance(value, Mapping) else getattr(value, part)
    return value
