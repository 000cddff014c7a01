"""How column lineage says that it is a guess: the description of a transformation begins with ``guess: ``.

OpenLineage has no member for it. A guess is lineage that was not derived from what a program does: every column that it
read may feed every column that it wrote.
"""

from __future__ import annotations

PREFIX = "guess: "


def is_guess(description: str | None) -> bool:
    """Return whether a transformation with this description is a guess."""
    return description is not None and description.startswith(PREFIX)
