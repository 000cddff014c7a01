"""Example questions in Cypher that users can copy and change; a test runs each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_TITLE, _PARAMETERS = "// ", "// parameters: "


@dataclass(frozen=True, slots=True)
class Recipe:
    """One question: its title, the names of its parameters, and its text."""

    title: str
    parameters: tuple[str, ...]
    text: str

    def shown(self) -> str:
        """Return the recipe to be copied: its title as a comment, then its text."""
        return f"{_TITLE}{self.title}\n{self.text}"


def model() -> str:
    """Return the public labels, relationships and properties of the graph, as comments in Cypher (docs/cypher.md)."""
    return (files(__package__) / "model.cypher").read_text(encoding="utf-8").strip()


@cache
def recipes() -> tuple[Recipe, ...]:
    """Return all recipes, in the order in which they are shown."""
    text = (files(__package__) / "recipes.cypher").read_text(encoding="utf-8")
    return tuple(_recipe(block.splitlines()) for block in text.strip().split("\n\n"))


def _recipe(lines: list[str]) -> Recipe:
    named = lines[1].removeprefix(_PARAMETERS)
    parameters = () if named == "none" else tuple(named.split(", "))
    return Recipe(lines[0].removeprefix(_TITLE), parameters, "\n".join(lines[2:]))
