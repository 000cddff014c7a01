"""The recorder of a program's field operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..model.field_operations import DatasetRef, Destination, FieldOperation
from ..recording.program import resolve
from ..resolution.lineage import FieldLineage
from .run import Run, apply


class LineageRecorder(Protocol):
    """The interface of recorders of field operations."""

    def record(self, destination: Destination, operations: Iterable[FieldOperation]) -> FieldLineage:
        """Record operations of a destination and return its lineage; calls accumulate."""
        ...


class ProgramRecorder:
    """The recorder of a run: calls for the same destination accumulate in the order in which they are made.

    With a run, each call adds the lineage recorded so far to the run (``apply``) and replaces that of earlier calls. With
    ``strict``, an input that no operation outputs raises InvalidLineage; otherwise it has no sources and is reported in
    ``problems``.
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
        """Add operations and return the lineage of the destination; if InvalidLineage is raised, nothing is added."""
        known, before = self._recorded.get(destination.ref, (destination, ()))
        target = destination if destination.schema is not None else known
        after = (*before, *operations)
        lineage = resolve(after, target, implicit_identity=self._implicit_identity, strict=self._strict)
        self._recorded[destination.ref] = (target, after)
        if self._run is not None:
            apply(lineage, self._run, namespace=self._namespace)
        return lineage
