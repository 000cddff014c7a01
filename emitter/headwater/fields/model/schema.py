"""Dataset schemas: names, types and nesting of fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from .paths import FieldPath, PathLike


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field of a schema: its name, its type as text if known, and its own fields if it is a record."""

    name: str
    type: str | None = None
    fields: tuple[SchemaField, ...] = ()

    @classmethod
    def of(cls, item: SchemaFieldLike) -> SchemaField:
        """Return the field written ``"name"``, ``("name", "type")`` or ``("name", "struct", [fields])``."""
        match item:
            case SchemaField():
                return item
            case str():
                return cls(item)
            case (name, kind):
                return cls(name, kind)
            case (name, kind, inner):
                return cls(name, kind, tuple(cls.of(part) for part in inner))


SchemaFieldLike: TypeAlias = (
    "str | SchemaField | tuple[str, str | None] | tuple[str, str | None, Iterable[SchemaFieldLike]]"
)


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a dataset; ``schema["address.zip"]`` is a path, or a KeyError if there is no such field."""

    fields: tuple[SchemaField, ...]

    @classmethod
    def of(cls, *fields: SchemaFieldLike) -> Schema:
        return cls(tuple(SchemaField.of(item) for item in fields))

    @classmethod
    def of_paths(cls, paths: Iterable[PathLike]) -> Schema:
        """Return the schema with these leaf paths; paths with a common prefix share a record."""
        tree: _Tree = {}
        for path in paths:
            level = tree
            for part in FieldPath.of(path).parts:
                level = level.setdefault(part, {})
        return cls(_fields_of(tree))

    @classmethod
    def maybe(cls, schema: SchemaLike | None) -> Schema | None:
        if schema is None or isinstance(schema, Schema):
            return schema
        fields = tuple(schema)
        paths = [item for item in fields if isinstance(item, str)]
        return cls.of_paths(paths) if len(paths) == len(fields) else cls.of(*fields)

    def __getitem__(self, path: PathLike) -> FieldPath:
        found = FieldPath.of(path)
        if found not in set(self.paths()):
            raise KeyError(str(found))
        return found

    def paths(self) -> Iterator[FieldPath]:
        """Yield the paths of all fields, each record before its fields."""
        stack: list[tuple[tuple[str, ...], SchemaField]] = [((), item) for item in reversed(self.fields)]
        while stack:
            parent, item = stack.pop()
            path = (*parent, item.name)
            yield FieldPath(path)
            stack.extend((path, inner) for inner in reversed(item.fields))

    def leaves(self) -> Iterator[FieldPath]:
        """Yield the paths of the fields that contain no other fields."""
        records = {path.parts[:-1] for path in self.paths()}
        return (path for path in self.paths() if path.parts not in records)


SchemaLike: TypeAlias = "Schema | Iterable[SchemaFieldLike]"
_Tree: TypeAlias = "dict[str, _Tree]"


def _fields_of(tree: _Tree) -> tuple[SchemaField, ...]:
    """Convert nested dicts into fields, children before parents, without recursion."""
    order = [tree]
    for level in order:
        order.extend(level.values())
    built: dict[int, tuple[SchemaField, ...]] = {}
    for level in reversed(order):
        built[id(level)] = tuple(SchemaField(name, None, built[id(inner)]) for name, inner in level.items())
    return built[id(tree)]
