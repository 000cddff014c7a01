"""Lineage that operators expose: an operator returns what it reads and writes, a listener emits OpenLineage events.

An operator defines ``get_openlineage_facets_on_start(ti)``, ``get_openlineage_facets_on_complete(ti)`` or
``get_openlineage_facets_on_failure(ti)`` and returns a ``TaskInstanceLineage`` or a dictionary of the same form.
``OperatorRunner`` runs such operators without a scheduler; ``headwater.operators.airflow`` is a listener for Apache Airflow.
This package does not import a scheduler. See docs/operators.md.
"""

from .bounded import Isolation
from .contract.carry_over import CarryOver, KeepsCarryOver, carry_over
from .contract.extractors import (
    DefaultExtractor,
    ExposesLineageOnComplete,
    ExposesLineageOnFailure,
    ExposesLineageOnStart,
    Extractor,
    ExtractorRegistry,
    default_registry,
    register_extractor,
)
from .contract.facets import PRODUCER, external_query
from .contract.results import Reading, read_result
from .contract.task_lineage import InputDataset, OperatorLineage, OutputDataset, TaskInstanceLineage
from .current import CurrentTask, current_task, emit_dataset_lineage, running_task
from .hooks import HookLineageCollector, collect_in_process, collecting, get_hook_collector
from .listener import TaskLineageListener
from .naming import DatasetName, dataset_name
from .policy import EmissionPolicy, TaskPolicy
from .runner import OperatorRunner, TaskDeferred, TaskInstance, TaskOutcome, TaskSkipped, Workflow
from .sink import CollectingSink, EventSink, default_sink
from .tasks import RunRef, TaskRun, parent_facet, task_run_id, workflow_run_id

__all__ = [
    "PRODUCER",
    "CarryOver",
    "CollectingSink",
    "CurrentTask",
    "DatasetName",
    "DefaultExtractor",
    "EmissionPolicy",
    "EventSink",
    "ExposesLineageOnComplete",
    "ExposesLineageOnFailure",
    "ExposesLineageOnStart",
    "Extractor",
    "ExtractorRegistry",
    "HookLineageCollector",
    "InputDataset",
    "Isolation",
    "KeepsCarryOver",
    "OperatorLineage",
    "OperatorRunner",
    "OutputDataset",
    "Reading",
    "RunRef",
    "TaskDeferred",
    "TaskInstance",
    "TaskInstanceLineage",
    "TaskLineageListener",
    "TaskOutcome",
    "TaskPolicy",
    "TaskRun",
    "TaskSkipped",
    "Workflow",
    "carry_over",
    "collect_in_process",
    "collecting",
    "current_task",
    "dataset_name",
    "default_registry",
    "default_sink",
    "emit_dataset_lineage",
    "external_query",
    "get_hook_collector",
    "parent_facet",
    "read_result",
    "register_extractor",
    "running_task",
    "task_run_id",
    "workflow_run_id",
]
