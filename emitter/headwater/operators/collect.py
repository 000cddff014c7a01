"""What is told of one task at one moment: the operator's own words, else those of its hooks, else its inlets and
outlets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from headwater_avro.errors import ConfigError

from .contract.annotations import annotated_lineage
from .contract.extractors import ExtractorRegistry, extract
from .contract.results import Reading, Render, read_result
from .contract.task_lineage import InputDataset, OutputDataset, TaskInstanceLineage
from .policy import TaskPolicy

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """Whose lineage is asked for, in which state (``running``, ``success``, ``failed``, ``skipped``), and what helps
    to tell it."""

    operator: Any
    ti: Any
    state: str | None
    policy: TaskPolicy
    registry: ExtractorRegistry
    hooks: TaskInstanceLineage
    runtime_outlets: tuple[object, ...]
    render: Render


def collect_lineage(question: Question) -> Reading:
    """The lineage of a task in the specification's form, and every fault on the way to it; raises nothing.

    Hooks speak where the operator names no dataset, inlets and outlets where hooks don't either. Without an extractor
    and without words of hooks, the run facet ``unknownSourceAttribute`` says that nobody knows what this operator
    does.
    """
    extractor = question.registry.for_operator(question.operator) if question.policy.extract else None
    told = Reading(TaskInstanceLineage()) if extractor is None else _ask(extractor, question)
    if told.lineage.tells_datasets:
        return told
    hooks = question.hooks if question.policy.hook_lineage else TaskInstanceLineage()
    if hooks.tells_datasets:
        return _joined(told, read_result(hooks, question.render))
    rest = _annotations(question)
    if extractor is None and question.policy.extract:
        rest = replace(rest, run_facets=unknown_source(question.operator))
    return _joined(told, read_result(rest, question.render))


def _ask(extractor: Any, question: Question) -> Reading:
    # Set after construction: extractors written for older contracts take the operator alone.
    extractor.include_source_code = question.policy.include_source_code
    try:
        return read_result(extract(extractor, question.state, question.ti), question.render)
    except ConfigError as fault:
        return _nothing(extractor, str(fault))
    except Exception as fault:
        logger.debug("lineage code raised", exc_info=True)
        return _nothing(extractor, f"{type(fault).__name__}: {fault}")


def _nothing(extractor: Any, fault: str) -> Reading:
    return Reading(
        TaskInstanceLineage(),
        (f"{type(extractor).__name__} told nothing of {type(extractor.operator).__name__}: {fault}",),
    )


def _joined(first: Reading, second: Reading) -> Reading:
    return Reading(first.lineage.merge(second.lineage), first.problems + second.problems)


def _annotations(question: Question) -> TaskInstanceLineage:
    inlets, outlets = (_listed(getattr(question.operator, name, None)) for name in ("inlets", "outlets"))
    return annotated_lineage(inlets, outlets, question.runtime_outlets)


def _listed(given: Any) -> Iterable[object]:
    return given if isinstance(given, (list, tuple, set, frozenset)) else () if given is None else (given,)


def unknown_source(operator: Any) -> dict[str, Any]:
    """The run facet that Airflow's provider sends for an operator that nobody can read."""
    name = str(getattr(operator, "task_type", type(operator).__name__))
    return {"unknownSourceAttribute": {"unknownItems": [{"name": name, "type": "operator"}]}}


def as_plain(reading: Reading) -> dict[str, Any]:
    """A reading as JSON has it, so that a child process can hand it over."""
    sides = {
        "inputs": [
            [each.namespace, each.name, each.facets, each.input_facets]
            for each in reading.lineage.inputs
            if isinstance(each, InputDataset)
        ],
        "outputs": [
            [each.namespace, each.name, each.facets, each.output_facets]
            for each in reading.lineage.outputs
            if isinstance(each, OutputDataset)
        ],
    }
    return {
        **sides,
        "run": reading.lineage.run_facets,
        "job": reading.lineage.job_facets,
        "problems": list(reading.problems),
    }


def from_plain(members: dict[str, Any]) -> Reading:
    """The reading that `as_plain` made JSON of."""
    inputs: list[InputDataset] = [InputDataset(*each) for each in members["inputs"]]
    outputs: list[OutputDataset] = [OutputDataset(*each) for each in members["outputs"]]
    return Reading(TaskInstanceLineage(inputs, outputs, members["run"], members["job"]), tuple(members["problems"]))


CustomFacets = Callable[[Any, str], "dict[str, Any] | None"]


def custom_run_facets(functions: Iterable[CustomFacets], ti: Any, state: str) -> Reading:
    """Run facets of functions that the deployment set up; one that raises is left out, of one name the later wins."""
    facets: dict[str, Any] = {}
    faults: list[str] = []
    for function in functions:
        name = getattr(function, "__name__", repr(function))
        try:
            given = function(ti, state) or {}
            doubles = given.keys() & facets.keys()
            facets |= given
        except Exception as fault:  # noqa: BLE001  the deployment's code
            faults.append(f"custom facets of {name}: {type(fault).__name__}: {fault}")
            continue
        faults += [f"custom facet {each} comes twice; {name} wins" for each in sorted(doubles)]
    read = read_result({"runFacets": facets})
    return Reading(read.lineage, tuple(faults) + read.problems)
