"""What a stage's operations say that its schemas contradict; told, never raised.

1. An input is valid if it is in the stage's input schema or an earlier operation of the stage outputs it.
2. An output that nobody uses is valid: joiners drop their keys.
3. An output is redundant if the field is output again before anyone used it.
4. Transforms without inputs or without outputs are passed over: they make nothing known and use nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model.wired import OperationType
from .stage import StageField, StageOperation


@dataclass(frozen=True, slots=True)
class StageChecks:
    """For each field the names of the operations at fault, in the order recorded."""

    invalid_inputs: Mapping[str, tuple[str, ...]]
    invalid_outputs: Mapping[str, tuple[str, ...]]
    redundant_outputs: Mapping[str, tuple[str, ...]]

    @property
    def valid(self) -> bool:
        """Whether nothing is invalid; redundant outputs are harmless."""
        return not self.invalid_inputs and not self.invalid_outputs


def check_stage(operations: Iterable[StageOperation], stage_inputs: Iterable[str]) -> StageChecks:
    """Check one stage's operations in the order recorded; a joiner's inputs are written ``stage.field``.

    ``invalid_outputs`` is empty since rule 2; it is there because the answer's form has it.
    """
    checking = _Checking(stage_inputs)
    for operation in operations:
        if operation.type is not OperationType.TRANSFORM or (operation.inputs and operation.outputs):
            checking.see(operation)
    return StageChecks(_frozen(checking.invalid), {}, _frozen(checking.found_redundant()))


class _Checking:
    def __init__(self, stage_inputs: Iterable[str]) -> None:
        self.invalid: dict[str, list[str]] = defaultdict(list)
        self._valid = set(stage_inputs)
        self._unused: dict[str, list[str]] = defaultdict(list)
        self._redundant: dict[str, list[str]] = defaultdict(list)

    def see(self, operation: StageOperation) -> None:
        for name in dict.fromkeys(map(stage_field_text, operation.inputs)):
            if name not in self._valid:
                self.invalid[name].append(operation.name)
            self._redundant[name].extend(self._unused.pop(name, [])[:-1])
        for name in operation.outputs:
            self._valid.add(name)
            self._unused[name].append(operation.name)

    def found_redundant(self) -> Mapping[str, Sequence[str]]:
        """The outputs replaced before use, and those that nobody used, save the last of each."""
        for name, makers in self._unused.items():
            self._redundant[name].extend(makers[:-1])
        self._unused.clear()
        return self._redundant


def stage_field_text(item: StageField) -> str:
    """The name by which a stage's schema calls an input: a joiner's carry the input stage."""
    return item.field if item.stage is None else f"{item.stage}.{item.field}"


def _frozen(found: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(operations) for name, operations in found.items() if operations}
