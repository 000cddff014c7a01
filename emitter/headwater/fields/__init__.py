"""Field-level lineage for any Python program and for pipelines of stages (seed 002).

A program says what its operations do to fields, for a destination::

    users = Source.of("crm", "Users")
    recorder = ProgramRecorder(run)
    recorder.record(
        Destination.of("warehouse", "Profiles"),
        [FieldOperation("Concat", [users["FirstName"], users["LastName"]], ["Name"])],
    )

Stages of a pipeline record without knowing source or destination; `Pipeline` wires them. Both end in a
`FieldLineage`, which `apply` puts into a run as OpenLineage facets.
"""

from .columns import Columns, Influence, columns
from .emit import MemoryRun, Run, apply
from .lineage import FieldLineage
from .metadata import COLLECT, DROP, ERROR, FIRST, FieldMetadata, Metadata, Policy, propagate, ranked
from .model import (
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
from .operations import InputField, Operation, OperationType
from .paths import FieldPath
from .pipeline import Pipeline
from .problems import InvalidLineage, Problem
from .program import resolve
from .recorder import LineageRecorder, ProgramRecorder
from .resolve import resolve_operations
from .schema import Schema, SchemaField
from .stage import Stage, StageField, StageOperation, StageRecorder
from .stage_checks import StageChecks, check_stage

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
