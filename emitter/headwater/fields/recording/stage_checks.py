"""Checks of a stage's operations against its schemas; faults are returned, never raised.

1. An input is valid if it is in the stage's input schema or an earlier operation of the stage outputs it.
2. An output that is never used is valid: joiners drop their keys.
3. An output is redundant if the field is output again before it is used.
4. Transforms without inputs or without outputs are not checked, and they use and define no fields.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model.field_operations import distinct
from ..model.wired import TRANSFORM
from .stage import StageOperation, stage_field_text


@dataclass(frozen=True, slots=True)
class StageChecks:
    """For each field the names of the operations at fault, in the order in which they were recorded."""

    invalid_inputs: Mapping[str, tuple[str, ...]]
    invalid_outputs: Mapping[str, tuple[str, ...]]
    redundant_outputs: Mapping[str, tuple[str, ...]]

    @property
    def valid(self) -> bool:
        """Whether nothing is invalid; redundant outputs are harmless."""
        return not self.invalid_inputs and not self.invalid_outputs


def check_stage(operations: Iterable[StageOperation], stage_inputs: Iterable[str]) -> StageChecks:
    """Return the faults of a stage's operations; the inputs of a joiner are written ``stage.field``.

    ``invalid_outputs`` is always empty because of rule 2; the form of the result requires it.
    """
    valid = set(stage_inputs)
    invalid, unused, redundant = (defaultdict[str, list[str]](list) for _ in range(3))
    for operation in operations:
        if operation.type is TRANSFORM and not (operation.inputs and operation.outputs):
            continue
        for name in distinct(map(stage_field_text, operation.inputs)):
            if name not in valid:
                invalid[name].append(operation.name)
            redundant[name].extend(unused.pop(name, [])[:-1])
        for name in operation.outputs:
            valid.add(name)
            unused[name].append(operation.name)
    for name, makers in unused.items():
        redundant[name].extend(makers[:-1])
    return StageChecks(_frozen(invalid), {}, _frozen(redundant))


def _frozen(found: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(operations) for name, operations in found.items() if operations}
