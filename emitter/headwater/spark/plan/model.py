"""A query plan as values: what ``jvm/PlanReader.java`` wrote down, nothing of py4j.

Pure: no I/O, no clock. A plan is a list of nodes; node 0 is the root. Children, sub-query plans and plans held in a
field are told by their index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

JsonType = str | dict[str, Any] | None
"""A Spark data type as ``DataType.json`` writes it."""


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

    def walk(self) -> Iterator[Expression]:
        """This expression and all below it, without entering sub-query plans."""
        yield self
        for child in self.children:
            if child is not None:
                yield from child.walk()


class Attribute(msgspec.Struct, frozen=True, array_like=True):
    """One column of a node's output; ``id`` is -1 while unresolved, ``hidden`` marks a metadata column such as ``_file``."""

    id: int
    name: str
    type: JsonType = None
    hidden: bool = False


class PlanNode(msgspec.Struct, frozen=True, rename={"class_name": "class"}):
    """One node: its JVM class, the indexes of its children, its output and its constructor's fields as plain values."""

    index: int
    class_name: str
    children: tuple[int, ...]
    output: tuple[Attribute, ...]
    fields: dict[str, Any]
    sql: str | None = None
    command: bool = False

    @property
    def kind(self) -> str:
        """The class name without its package."""
        return self.class_name.rpartition(".")[2]


class Plan(msgspec.Struct, frozen=True):
    """A whole plan; ``cut`` says what ended the reading early (size, time, depth), or is None.

    Of a plan that was cut, ``leaves`` are the indexes of its leaves, even where the nodes on the way to them are missing.
    """

    nodes: tuple[PlanNode | None, ...]
    cut: str | None = None
    leaves: tuple[int, ...] = ()

    def __getitem__(self, index: int) -> PlanNode | None:
        return self.nodes[index]

    @property
    def root(self) -> PlanNode | None:
        return self.nodes[0] if self.nodes else None

    def commands(self) -> list[PlanNode]:
        """The commands that the plan carries out: one, or several INSERTs that share a FROM; none for a query."""
        root = self.root
        several = [self[child] for child in root.children] if root is not None and root.kind == "Union" else [root]
        found = [node for node in several if node is not None and node.command]
        return found if len(found) == len(several) else []

    def sql(self) -> str | None:
        """The SQL text that the plan came from, if any part of it did; a view's own text is not the query's."""
        for node in self.nodes:
            if node is not None and node.sql is not None:
                return node.sql
        return None

    def query_of(self, node: PlanNode) -> int | None:
        """The index of the plan that a command writes: its ``query`` (or only child), else None."""
        for field in ("query", "plan", "child", "logicalQuery"):
            held = node.fields.get(field)
            if isinstance(held, dict) and "$plan" in held:
                return int(held["$plan"])
        return node.children[0] if len(node.children) == 1 else None


_plans = msgspec.json.Decoder(Plan)


def parse(text: str) -> Plan:
    """The plan that ``text`` tells; raises ``msgspec.ValidationError`` when it is not of this form."""
    return _plans.decode(text)


def expression(raw: object) -> Expression | None:
    """A field's value as an expression, or None when it is none."""
    if isinstance(raw, dict) and "e" in raw:
        return msgspec.convert(raw, Expression)
    return None


def expressions(raw: object) -> list[Expression]:
    """All expressions in a field's value, however deep the lists that hold them."""
    if isinstance(raw, list):
        return [found for item in raw for found in expressions(item)]
    one = expression(raw)
    return [] if one is None else [one]


def schema_fields(attributes: tuple[Attribute, ...], names: tuple[str, ...] | None = None) -> list[dict[str, Any]]:
    """The ``fields`` of an OpenLineage schema facet (1-2-0) for columns, under ``names`` where given."""
    labels = names if names is not None and len(names) == len(attributes) else tuple(a.name for a in attributes)
    return [_field(label, one.type) for label, one in zip(labels, attributes, strict=True) if not one.hidden]


def struct_fields(schema: object) -> list[dict[str, Any]]:
    """The same for a Spark ``StructType`` as JSON."""
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
