"""Lineage that a connector reports on the JVM, through the official integration's interfaces (``jvm/Reported.java``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from ..plan.model import plan_index
from .nodes import (
    DatasetIdentifier,
    ExpressionDependencyWithDelegate,
    ExpressionDependencyWithIdentifier,
    InputDatasetField,
    InputDatasetFieldFromDelegate,
    InputDatasetWithDelegate,
    InputDatasetWithIdentifier,
    OlExprId,
    OutputDatasetField,
    OutputDatasetWithDelegate,
    OutputDatasetWithIdentifier,
)

Reported = Mapping[str, Any]


def reported_node(held: Reported) -> Any:
    """Return an object with the methods of ``extension/nodes.py`` that the node's class has on the JVM."""
    made = SimpleNamespace()
    if held.get("key"):
        made.get_outputs = _answering([OutputDatasetWithIdentifier({}, {}, _identifier(held["key"]))])
    if "inputs" in held:
        inputs = [_dataset(entry, InputDatasetWithIdentifier, InputDatasetWithDelegate) for entry in held["inputs"]]
        made.get_inputs = _answering(inputs)
    if "outputs" in held:
        outputs = [_dataset(entry, OutputDatasetWithIdentifier, OutputDatasetWithDelegate) for entry in held["outputs"]]
        made.get_outputs = _answering(outputs)
    if "dependencies" in held:
        made.column_level_lineage_inputs = _answering([_input_field(entry) for entry in held.get("columnInputs", ())])
        made.column_level_lineage_outputs = _answering(_output_fields(held.get("columnOutputs", ())))
        made.column_level_lineage_dependencies = _answering([_dependency(entry) for entry in held["dependencies"]])
    return made


def _answering(found: list[Any]) -> Callable[[Any], list[Any]]:
    """Return a method that answers any context with what the JVM reported."""
    return lambda _context: found


def _output_fields(entries: Iterable[Reported]) -> list[Any]:
    named = (entry for entry in entries if "field" in entry and "id" in entry)
    return [OutputDatasetField(str(entry["field"]), OlExprId(entry["id"])) for entry in named]


def _identifier(key: Reported) -> DatasetIdentifier:
    return DatasetIdentifier(str(key["namespace"]), str(key["name"]))


def _dataset(entry: Reported, with_identifier: Callable[..., Any], with_delegate: Callable[..., Any]) -> Any:
    own = (_facets(entry, "facets"), _facets(entry, "ownFacets"))
    if entry.get("key"):
        return with_identifier(*own, _identifier(entry["key"]))
    return with_delegate(*own, entry.get("delegate"))


def _facets(entry: Reported, name: str) -> dict[str, Any]:
    held = entry.get(name)
    found = held if isinstance(held, Mapping) else {}
    return {key: facet for key, facet in found.items() if isinstance(facet, Mapping) and key != "additionalProperties"}


def _input_field(entry: Reported) -> Any:
    if entry.get("key") and "id" in entry:
        return InputDatasetField(_identifier(entry["key"]), str(entry.get("field")), OlExprId(entry["id"]))
    return InputDatasetFieldFromDelegate(plan_index(entry.get("delegate")))


def _dependency(entry: Reported) -> Any:
    if "ids" in entry:
        return ExpressionDependencyWithIdentifier(OlExprId(entry["id"]), [OlExprId(number) for number in entry["ids"]])
    return ExpressionDependencyWithDelegate(OlExprId(entry["id"]), entry.get("expression"))
