"""Tags that the facet ``tags`` of a dataset or job states, of itself and of fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

WITHOUT_VALUE = ("", "true")
"""Values in lower case with which a tag says no more than with its key."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a dataset or job, or of one of a dataset's fields."""

    key: str
    value: str = ""
    field: str | None = None

    @property
    def name(self) -> str:
        """The tag as one text: its key, with its value if that says more.

        >>> [Tag("pii", "true").name, Tag("sales", "sales").name, Tag("team", "sales").name]
        ['pii', 'sales', 'team:sales']
        """
        says_more = self.value.lower() not in WITHOUT_VALUE and self.value != self.key
        return f"{self.key}:{self.value}" if says_more else self.key

    def is_named(self, name: str) -> bool:
        """Return whether a text names this tag: its key, or its key and value.

        >>> [Tag("team", "sales").is_named(name) for name in ("team", "team:sales", "team:finance")]
        [True, True, False]
        """
        return name in (self.key, self.name)


def tags_of(facets: Mapping[str, Any]) -> list[Tag]:
    """Return the tags in the facet ``tags``, in its order; malformed ones are left out, and those whose value is ``false``."""
    return list(dict.fromkeys(_tags(facets.get("tags"))))


def _tags(facet: Any) -> Iterator[Tag]:
    listed = facet.get("tags") if isinstance(facet, dict) else None
    for item in listed if isinstance(listed, list) else ():
        key = item.get("key") if isinstance(item, dict) else None
        if isinstance(key, str) and key:
            value, field = item.get("value"), item.get("field")
            text = value if isinstance(value, str) else "" if value is None else str(value).lower()
            if text.lower() != "false":
                yield Tag(key, text, field if isinstance(field, str) and field else None)
