"""The recorder that a program's context offers (seed 002, Platform API)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..model.field_operations import DatasetRef, Destination, FieldOperation
from ..recording.program import resolve
from ..resolution.lineage import FieldLineage
from .run import Run, apply


class LineageRecorder(Protocol):
    """What a program's context offers (seed 002, Platform API)."""

    def record(self, destination: Destination, operations: Iterable[FieldOperation]) -> FieldLineage:
        """Record operations against the destination; calls accumulate."""
        ...


class ProgramRecorder:
    """The recorder of one run: calls for one destination accumulate, in the order in which they are made.

    With a run, each call puts what is known by then into the run (`apply`); a later call replaces it. ``strict``
    makes an input that nobody makes an InvalidLineage; else it has no sources and stands in ``problems``.
    """

    def __init__(
        self,
        run: Run | None = None,
        *,
        namespace: str = "default",
        strict: bool = False,
        implicit_identity: bool = False,
    ) -> None:
        self._run = run
        self._namespace = namespace
        self._strict = strict
        self._implicit_identity = implicit_identity
        self._recorded: dict[DatasetRef, tuple[Destination, tuple[FieldOperation, ...]]] = {}

    def record(self, destination: Destination, operations: Iterable[FieldOperation]) -> FieldLineage:
        """Add operations and give the destination's lineage as of now; InvalidLineage leaves the earlier ones."""
        known, before = self._recorded.get(destination.ref, (destination, ()))
        target = destination if destination.schema is not None else known
        after = (*before, *operations)
        lineage = resolve(after, target, implicit_identity=self._implicit_identity, strict=self._strict)
        self._recorded[destination.ref] = (target, after)
        if self._run is not None:
            apply(lineage, self._run, namespace=self._namespace)
        return lineage
