"""A query plan as values, read from the JSON that ``jvm/PlanReader.java`` writes.

Pure: no py4j, no I/O, no clock. A plan is a list of nodes; node 0 is the root. Children, sub-query plans and plans in
fields are referred to by index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

JsonType = str | dict[str, Any] | None
"""A Spark data type as ``DataType.json`` writes it."""


Fields = list[dict[str, Any]]
"""The ``fields`` of a schema facet."""


class Expression(msgspec.Struct, frozen=True, rename={"kind": "e", "children": "of"}):
    """One expression: ``kind`` is its class without package, ``id`` its ExprId where it has one."""

    kind: str
    children: tuple[Expression | None, ...] = ()
    name: str | None = None
    id: int | None = None
    value: str | None = None
    same: bool = False
    plan: int | None = None
    replaced: bool = False

    def descendants(self) -> Iterator[Expression]:
        """Yield this expression and its descendants, without those in sub-query plans."""
        yield self
        for child in self.children:
            if child is not None:
                yield from child.descendants()


class Attribute(msgspec.Struct, frozen=True, array_like=True):
    """A column of a node's output; ``id`` is -1 while unresolved, a metadata column such as ``_file`` is ``hidden``."""

    id: int
    name: str
    type: JsonType = None
    hidden: bool = False


class PlanNode(msgspec.Struct, frozen=True, rename={"class_name": "class"}):
    """A node: its JVM class, the indexes of its children, its output and its constructor's fields as plain values.

    A ``partial`` node lies inside a chain of nodes that pass columns on: it is read without its output, and a projection
    without the columns that it passes on unchanged. ``lineage`` is what the node's class reports itself on the JVM.
    """

    index: int
    class_name: str
    children: tuple[int, ...]
    output: tuple[Attribute, ...]
    fields: dict[str, Any]
    sql: str | None = None
    command: bool = False
    partial: bool = False
    lineage: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        """Return the class name without its package."""
        return self.class_name.rpartition(".")[2]


class Plan(msgspec.Struct, frozen=True):
    """A plan; ``truncated`` is the limit that ended the reading early (size, time, depth), or None.

    ``leaves`` are the indexes of a truncated plan's leaves, even where the nodes between them and the root are missing.
    ``limit`` is the limit because of which only the first columns were read, with all nodes; None for a complete plan.
    ``replaces_partitions`` is whether the session's overwrites replaced only partitions with new rows, when it began.
    """

    nodes: tuple[PlanNode | None, ...]
    truncated: str | None = None
    leaves: tuple[int, ...] = ()
    limit: str | None = None
    replaces_partitions: bool = False

    def __getitem__(self, index: int) -> PlanNode | None:
        return self.nodes[index]

    @property
    def root(self) -> PlanNode | None:
        return self.nodes[0] if self.nodes else None

    def commands(self) -> list[PlanNode]:
        """Return the plan's commands: several for INSERTs that share a FROM, else one; none for a query."""
        root = self.root
        candidates = [self[child] for child in root.children] if root is not None and root.kind == "Union" else [root]
        commands = [node for node in candidates if node is not None and node.command]
        return commands if len(commands) == len(candidates) else []

    def sql(self) -> str | None:
        """Return the SQL text that the plan was parsed from, or None for a plan of the DataFrame API."""
        return next((node.sql for node in self.nodes if node is not None and node.sql is not None), None)

    def query_of(self, node: PlanNode) -> int | None:
        """Return the index of the plan that a command writes: its ``query`` or only child, else None."""
        indexes = (plan_index(node.fields.get(field)) for field in ("query", "plan", "child", "logicalQuery"))
        only_child = node.children[0] if len(node.children) == 1 else None
        return next((index for index in indexes if index is not None), only_child)


_plans = msgspec.json.Decoder(Plan)


def parse(text: str) -> Plan:
    """Return the plan in ``text``; raise ``msgspec.ValidationError`` if it does not have this form."""
    return _plans.decode(text)


def plan_index(raw: object) -> int | None:
    """Return the index of the plan that a field's value refers to, or None if it is not a plan."""
    return int(raw["$plan"]) if isinstance(raw, dict) and "$plan" in raw else None


def expression(raw: object) -> Expression | None:
    """Return a field's value as an expression, or None if it is not one."""
    if isinstance(raw, dict) and "e" in raw:
        return msgspec.convert(raw, Expression)
    return None


def expressions(raw: object) -> list[Expression]:
    """Return all expressions in a field's value, in lists of any depth."""
    if isinstance(raw, list):
        return [found for item in raw for found in expressions(item)]
    found = expression(raw)
    return [] if found is None else [found]


def schema_fields(attributes: tuple[Attribute, ...], names: tuple[str, ...] | None = None) -> Fields:
    """Return the ``fields`` of a schema facet for columns, under ``names`` where given."""
    labels = names if names is not None and len(names) == len(attributes) else tuple(a.name for a in attributes)
    return [_field(label, a.type) for label, a in zip(labels, attributes, strict=True) if not a.hidden]


def struct_fields(schema: object) -> Fields:
    """Return the ``fields`` of a schema facet for a Spark ``StructType`` as JSON."""
    if not isinstance(schema, dict):
        return []
    return [_field(str(f.get("name")), f.get("type")) for f in schema.get("fields", ()) if isinstance(f, dict)]


def _field(name: str, type_: JsonType) -> dict[str, Any]:
    if not isinstance(type_, dict):
        return {"name": name} if type_ is None else {"name": name, "type": type_}
    kind = str(type_.get("type"))
    field: dict[str, Any] = {"name": name, "type": kind}
    match kind:
        case "struct":
            field["fields"] = struct_fields(type_)
        case "array":
            field["fields"] = [_field("_element", type_.get("elementType"))]
        case "map":
            field["fields"] = [_field("key", type_.get("keyType")), _field("value", type_.get("valueType"))]
        case "udt":
            return _field(name, type_.get("sqlType"))
    return field
