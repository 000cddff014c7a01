"""Field-level lineage for Python programs and for pipelines of stages (docs/fields.md).

A program records what its operations do to fields, by destination::

    users = Source.of("crm", "Users")
    recorder = ProgramRecorder(run)
    recorder.record(
        Destination.of("warehouse", "Profiles"),
        [FieldOperation("Concat", [users["FirstName"], users["LastName"]], ["Name"])],
    )

Stages of a pipeline record without knowing source or destination; ``Pipeline`` wires them. Both result in a
``FieldLineage``, which ``apply`` adds to a run as OpenLineage facets.
"""

from .emit.recorder import LineageRecorder, ProgramRecorder
from .emit.run import MemoryRun, Run, apply
from .model.field_operations import (
    DatasetField,
    DatasetRef,
    Destination,
    FieldOperation,
    FieldOperationBuilder,
    Input,
    OpKind,
    Output,
    Source,
)
from .model.paths import FieldPath
from .model.problems import InvalidLineage, Problem
from .model.schema import Schema, SchemaField
from .model.wired import InputField, Operation, OperationType
from .recording.pipeline import Pipeline
from .recording.program import resolve
from .recording.stage import Stage, StageField, StageOperation, StageRecorder
from .recording.stage_checks import StageChecks, check_stage
from .resolution.columns import Columns, Influence, columns
from .resolution.lineage import FieldLineage
from .resolution.metadata import COLLECT, DROP, ERROR, FIRST, FieldMetadata, Metadata, Policy, propagate, ranked
from .resolution.resolve import resolve_operations

__all__ = [
    "COLLECT",
    "DROP",
    "ERROR",
    "FIRST",
    "Columns",
    "DatasetField",
    "DatasetRef",
    "Destination",
    "FieldLineage",
    "FieldMetadata",
    "FieldOperation",
    "FieldOperationBuilder",
    "FieldPath",
    "Influence",
    "Input",
    "InputField",
    "InvalidLineage",
    "LineageRecorder",
    "MemoryRun",
    "Metadata",
    "OpKind",
    "Operation",
    "OperationType",
    "Output",
    "Pipeline",
    "Policy",
    "Problem",
    "ProgramRecorder",
    "Run",
    "Schema",
    "SchemaField",
    "Source",
    "Stage",
    "StageChecks",
    "StageField",
    "StageOperation",
    "StageRecorder",
    "apply",
    "check_stage",
    "columns",
    "propagate",
    "ranked",
    "resolve",
    "resolve_operations",
]
