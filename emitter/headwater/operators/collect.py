"""The lineage of a task in a state: that of the operator, else that of its hooks, else its inlets and outlets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from headwater_avro.errors import ConfigError

from .contract.annotations import annotated_lineage
from .contract.extractors import ExtractorRegistry, extract
from .contract.results import Reading, Render, read_result
from .contract.task_lineage import InputDataset, OutputDataset, TaskInstanceLineage
from .policy import TaskPolicy

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """The task and state (``running``, ``success``, ``failed``, ``skipped``) of a lineage query, and the means to answer it."""

    operator: Any
    ti: Any
    state: str | None
    policy: TaskPolicy
    registry: ExtractorRegistry
    hooks: TaskInstanceLineage
    runtime_outlets: tuple[object, ...]
    render: Render


def collect_lineage(query: TaskQuery) -> Reading:
    """Return the lineage of a task in the specification's form, with all problems; never raise.

    The datasets of hooks are used if the operator names none, inlets and outlets if hooks do not either. Without an
    extractor and without datasets of hooks, the run facet ``unknownSourceAttribute`` names the operator.
    """
    extractor = query.registry.for_operator(query.operator) if query.policy.extract else None
    reading = Reading(TaskInstanceLineage()) if extractor is None else _extract(extractor, query)
    if reading.lineage.has_datasets:
        return reading
    hooks = query.hooks if query.policy.hook_lineage else TaskInstanceLineage()
    if hooks.has_datasets:
        return _merged(reading, read_result(hooks, query.render))
    rest = _annotations(query)
    if extractor is None and query.policy.extract:
        rest = replace(rest, run_facets=unknown_source(query.operator))
    return _merged(reading, read_result(rest, query.render))


def _extract(extractor: Any, query: TaskQuery) -> Reading:
    # Set after construction, because extractors of older contracts have only the operator as a parameter.
    extractor.include_source_code = query.policy.include_source_code
    try:
        return read_result(extract(extractor, query.state, query.ti), query.render)
    except ConfigError as fault:
        return _nothing(extractor, str(fault))
    except Exception as fault:
        logger.debug("lineage code raised", exc_info=True)
        return _nothing(extractor, f"{type(fault).__name__}: {fault}")


def _nothing(extractor: Any, fault: str) -> Reading:
    return Reading(
        TaskInstanceLineage(),
        (f"{type(extractor).__name__} returned no lineage of {type(extractor.operator).__name__}: {fault}",),
    )


def _merged(first: Reading, second: Reading) -> Reading:
    return Reading(first.lineage.merge(second.lineage), first.problems + second.problems)


def _annotations(query: TaskQuery) -> TaskInstanceLineage:
    inlets, outlets = (_listed(getattr(query.operator, name, None)) for name in ("inlets", "outlets"))
    return annotated_lineage(inlets, outlets, query.runtime_outlets)


def _listed(given: Any) -> Iterable[object]:
    return given if isinstance(given, (list, tuple, set, frozenset)) else () if given is None else (given,)


def unknown_source(operator: Any) -> dict[str, Any]:
    """Return the run facet that Airflow's provider emits for an operator without lineage."""
    name = str(getattr(operator, "task_type", type(operator).__name__))
    return {"unknownSourceAttribute": {"unknownItems": [{"name": name, "type": "operator"}]}}


def as_plain(reading: Reading) -> dict[str, Any]:
    """Return a reading as JSON types, so that a child process can return it."""
    members: dict[str, Any] = msgspec.to_builtins(reading)
    return members


def from_plain(members: dict[str, Any]) -> Reading:
    """Return the reading that ``as_plain`` converted."""
    lineage = members["lineage"]
    inputs = [InputDataset(**dataset) for dataset in lineage["inputs"]]
    outputs = [OutputDataset(**dataset) for dataset in lineage["outputs"]]
    return Reading(TaskInstanceLineage(**{**lineage, "inputs": inputs, "outputs": outputs}), tuple(members["problems"]))


CustomFacets = Callable[[Any, str], "dict[str, Any] | None"]


def custom_run_facets(functions: Iterable[CustomFacets], ti: Any, state: str) -> Reading:
    """Return the run facets of the deployment's functions; one that raises is left out, of equal names the last wins."""
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
        faults += [f"custom facet {double} is defined twice; that of {name} is used" for double in sorted(doubles)]
    read = read_result({"runFacets": facets})
    return Reading(read.lineage, tuple(faults) + read.problems)
