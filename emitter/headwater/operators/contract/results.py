"""Reading of a lineage method's result: dictionaries, our values, the provider's, or objects with the same attributes.

An invalid dataset or facet is left out and reported as a problem; the others stay. Only a result that is not lineage at
all is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from headwater_avro.errors import ConfigError
from headwater_avro.names import MAX_KEY_LENGTH, is_name

from .facets import read_facets
from .plain import plain
from .task_lineage import InputDataset, OutputDataset, TaskInstanceLineage, dataset_member
from .templates import Unresolved

Render: TypeAlias = Callable[[str], str]
"""A function that resolves the templates in a text; raises ``Unresolved`` where it cannot."""

Side: TypeAlias = Literal["input", "output"]

_MEMBERS = {"inputs": "inputs", "outputs": "outputs", "run_facets": "runFacets", "job_facets": "jobFacets"}
_SIDES: dict[Side, tuple[type[InputDataset | OutputDataset], tuple[str, str]]] = {
    "input": (InputDataset, ("input_facets", "inputFacets")),
    "output": (OutputDataset, ("output_facets", "outputFacets")),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """Lineage in the specification's form (facets are dictionaries, datasets are ours), and what was left out."""

    lineage: TaskInstanceLineage
    problems: tuple[str, ...] = ()


def read_result(result: object, render: Render | None = None) -> Reading:
    """Return the reading of an operator's result; that of None is empty.

    Accepted are dictionaries with the members of a lineage (``runFacets``, or ``run_facets``), ``TaskInstanceLineage``, and
    objects that have all four attributes in either spelling. Raise ``ConfigError`` for any other value.
    """
    if result is None:
        return Reading(TaskInstanceLineage())
    inputs, outputs, run, job = (_member(result, *names) for names in _MEMBERS.items())
    read_inputs, input_faults = _read_side("input", inputs, render)
    read_outputs, output_faults = _read_side("output", outputs, render)
    run_facets, run_faults = read_facets("run", run)
    job_facets, job_faults = read_facets("job", job)
    lineage = TaskInstanceLineage(read_inputs, read_outputs, run_facets, job_facets)
    return Reading(lineage, (*input_faults, *output_faults, *run_faults, *job_faults))


def _member(result: object, snake: str, camel: str) -> Any:
    if isinstance(result, Mapping):
        if result and not any(name in result for names in _MEMBERS.items() for name in names):
            raise ConfigError(
                f"a lineage has the members {', '.join(_MEMBERS.values())}, this has {', '.join(map(str, result))}"
            )
        return result.get(snake, result.get(camel))
    for name in (snake, camel):
        if hasattr(result, name):
            return getattr(result, name)
    raise ConfigError(f"a {type(result).__name__} is not lineage: it has no {snake}")


def _read_side(side: Side, given: object, render: Render | None) -> tuple[list[Any], list[str]]:
    if given is None:
        return [], []
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        return [], [f"{side}s are a {type(given).__name__}, not a list: left out"]
    datasets, problems = [], []
    for item in given:
        dataset, faults = read_dataset(side, item, render)
        problems += faults
        if dataset is not None:
            datasets.append(dataset)
    return datasets, problems


def read_dataset(
    side: Side, item: object, render: Render | None
) -> tuple[InputDataset | OutputDataset | None, list[str]]:
    """Return a dataset in the specification's form, or None if its key is invalid; and its problems."""
    parts = (_key_part(dataset_member(item, part), render) for part in ("namespace", "name"))
    (namespace, namespace_fault), (name, name_fault) = parts
    fault = namespace_fault or name_fault
    if fault:
        return None, [
            f"{side} {dataset_member(item, 'namespace')!s} {dataset_member(item, 'name')!s} {fault}: left out"
        ]
    facets, faults = read_facets("dataset", dataset_member(item, "facets"))
    cls, own_names = _SIDES[side]
    given = next((found for name_ in own_names if (found := dataset_member(item, name_))), None)
    own, own_faults = read_facets(side, given)
    return cls(namespace, name, facets, own), faults + own_faults


def dataset_event_form(dataset: InputDataset | OutputDataset) -> dict[str, Any]:
    """Return the dataset in the form of an event, without empty facet containers."""
    members: dict[str, Any] = {"facets": dataset.facets}
    if isinstance(dataset, InputDataset):
        members["inputFacets"] = dataset.input_facets
    else:
        members["outputFacets"] = dataset.output_facets
    facets = {member: plain(facets) for member, facets in members.items() if facets}
    return {"namespace": dataset.namespace, "name": dataset.name, **facets}


def _key_part(given: object, render: Render | None) -> tuple[str, str]:
    """Return a namespace or name, and its fault or an empty text."""
    if not isinstance(given, str):
        return "", "has no namespace and name as text"
    try:
        text = render(given) if render else given
    except Unresolved as unresolved:
        return "", str(unresolved)
    if not text.strip() or text == "None" != given:
        return "", "has a name that resolves to nothing"
    # The limits of specification 1.2: the consumer would reject the whole event.
    if not is_name(text):
        return "", f"has a name with control characters or of over {MAX_KEY_LENGTH} characters"
    return text, ""
