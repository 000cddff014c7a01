"""The JavaScript modules and styles of the page as texts that need no server: bundled into one script, and its colours."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from posixpath import normpath

STYLES = ("base", "shell", "graph")
"""The styles that a picture of a graph uses."""
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]*)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*|\bimport\.meta\b|\bimport\((?!\")", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_COLOUR = re.compile(r"(--[\w-]+):\s*([^;]+);")


def page_folder() -> Path:
    """Return the folder with the files of the page, without importing the server, whose extra may be absent."""
    found = find_spec("headwater_web")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "page"


@dataclass(slots=True)
class _Bundle:
    """The modules that a module needs, each a function that returns its exports, in an order in which each has what it needs."""

    root: Path
    names: dict[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def add(self, path: str, importers: tuple[str, ...] = ()) -> str:
        """Add a module and those that it needs; return the name of the variable with its exports."""
        if path in importers:
            raise ValueError(f"modules import one another in a cycle: {' '.join((*importers, path))}")
        if path not in self.names:
            text = _COMMENT.sub("", (self.root / path).read_text("utf-8"))
            folder = PurePosixPath(path).parent
            imports = {found[2]: normpath(folder / found[2]) for found in _IMPORT.finditer(text)}
            known = {name: self.add(target, (*importers, path)) for name, target in imports.items()}
            self.names[path] = f"module{len(self.names)}"
            self.parts.append(_as_function(self.names[path], path, text, known))
        return self.names[path]


def _as_function(name: str, path: str, text: str, known: dict[str, str]) -> str:
    exports = _EXPORT.findall(text)
    body = _IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = {known[found[2]]};", text)
    body = _EXPORT.sub("", body)
    if unknown := _UNKNOWN.search(body):
        raise ValueError(f"{path}: a bundle can't have {unknown[0]!r}")
    return f"const {name} = (() => {{\n{body}\nreturn {{{', '.join(exports)}}};\n}})();\n"


def bundled(entry: str, result: str = "", root: Path | None = None) -> str:
    """Return a script that runs a module of the page with all that it imports; ``result`` is what it exports, as its value.

    Modules may use ``import {…} from`` and ``export`` before functions, constants and classes; raises ValueError for others.
    """
    bundle = _Bundle(root or page_folder() / "js")
    name = bundle.add(entry)
    value = f"return {name}.{result};\n" if result else ""
    return f'(() => {{\n"use strict";\n{"".join(bundle.parts)}{value}}})()'


def styles() -> str:
    """Return the styles of a picture of a graph."""
    return "\n".join((page_folder() / "style" / f"{name}.css").read_text("utf-8") for name in STYLES)


def light_colours() -> dict[str, str]:
    """Return the colours of the light scheme by the names of their variables; they are the first of the base style."""
    base = (page_folder() / "style" / "base.css").read_text("utf-8")
    return dict(_COLOUR.findall(base.partition("@media")[0]))
