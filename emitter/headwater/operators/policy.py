"""What is told of which task: rules by workflow, task and operator class, in the form of Airflow's ``emission_policy``.

A rule is ``{"scope": {}, "controls": {"emit": false}, "match_mode": "exact" | "regex", "locked": false}``; the scope
is empty (all), ``{"operator"}``, ``{"dag_id"}`` or ``{"dag_id", "task_id"}``. The narrowest scope that says something
about a control decides it, and within one scope the last rule; what a locked rule says about may not be changed by a
task's author. A rule that can't be read is left out with a warning.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger(__name__)

# What a rule may say -> the field that it sets; the last one that a rule names wins.
_CONTROLS = {
    "emit": "emit",
    "emit_task_events": "emit",
    "extract_operator_metadata": "extract",
    "hook_lineage": "hook_lineage",
    "include_source_code": "include_source_code",
}
_WORKFLOW_CONTROLS = ("emit", "emit_dag_events")
_AUTHORED = "_openlineage_emission_policy"
_IGNORED = {"emit_dag_events", "include_full_task_info"}
_SCOPES: tuple[frozenset[str], ...] = (
    frozenset(),
    frozenset({"operator"}),
    frozenset({"dag_id"}),
    frozenset({"dag_id", "task_id"}),
)


@dataclass(frozen=True, slots=True)
class TaskPolicy:
    """What is told of one task."""

    emit: bool = True
    extract: bool = True
    hook_lineage: bool = True
    include_source_code: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that was read; ``narrowness`` is 0 for all tasks up to 3 for one task."""

    scope: Mapping[str, str]
    controls: Mapping[str, bool]
    regex: bool
    locked: bool
    narrowness: int

    def matches(self, about: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether each part of the scope fits one of the names that this part goes by."""
        return all(any(self._fits(pattern, name) for name in about[key]) for key, pattern in self.scope.items())

    def _fits(self, pattern: str, name: str) -> bool:
        return re.fullmatch(pattern, name) is not None if self.regex else pattern == name


@dataclass(frozen=True, slots=True)
class EmissionPolicy:
    """All rules, in the order given."""

    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, rules: object, disabled_operators: Iterable[str] = ()) -> EmissionPolicy:
        """Read rules as settings give them (a list of objects); what can't be read is left out with a warning.

        ``disabled_operators`` are full class paths or bare names; they stand before the rules, which may override them.
        """
        off = [{"scope": {"operator": name}, "controls": {"emit": False}} for name in disabled_operators]
        given = rules if isinstance(rules, (list, tuple)) else []
        if not isinstance(rules, (list, tuple)):
            logger.warning("an emission policy is a list of rules, this is a %s: left out", type(rules).__name__)
        read = [_read_rule(each) for each in [*off, *given]]
        return cls(tuple(each for each in read if each is not None))

    def for_task(self, operator: object, workflow: str, task: str) -> TaskPolicy:
        """What is told of this task; what its author set with the provider's API counts, but for locked controls."""
        cls = type(operator)
        names = (
            f"{cls.__module__}.{cls.__qualname__}",
            cls.__name__,
            str(getattr(operator, "task_type", cls.__name__)),
        )
        rules = self._matching({"operator": names, "dag_id": (workflow,), "task_id": (task,)})
        locked = {field for rule in rules if rule.locked for field in _fields(rule.controls)}
        authored = {field: value for field, value in _fields(_authored(operator)).items() if field not in locked}
        decided: dict[str, bool] = {}
        for rule in rules:
            decided |= _fields(rule.controls)
        return TaskPolicy(**(decided | authored))

    def for_workflow(self, workflow: str) -> bool:
        """Whether the runs of this workflow are told."""
        about: dict[str, tuple[str, ...]] = {"operator": (), "dag_id": (workflow,), "task_id": ()}
        emit = True
        for rule in self._matching(about):
            emit = next((rule.controls[key] for key in reversed(_WORKFLOW_CONTROLS) if key in rule.controls), emit)
        return emit

    def _matching(self, about: Mapping[str, tuple[str, ...]]) -> list[Rule]:
        """The rules that match, the one that decides last."""
        return sorted((rule for rule in self.rules if rule.matches(about)), key=lambda rule: rule.narrowness)


def _fields(controls: Mapping[str, Any]) -> dict[str, bool]:
    """The fields of a `TaskPolicy` that these controls set."""
    return {_CONTROLS[key]: controls[key] for key in _CONTROLS if isinstance(controls.get(key), bool)}


def _authored(operator: object) -> Mapping[str, Any]:
    """What ``extend_global_openlineage_emission_policy`` of Airflow's provider left on a task."""
    params: Any = getattr(operator, "params", None)
    given = params.get(_AUTHORED) if hasattr(params, "get") else None
    value = getattr(given, "value", given)
    return value if isinstance(value, Mapping) else {}


def _read_rule(given: Any) -> Rule | None:
    fault = _fault(given)
    if fault:
        logger.warning("emission policy rule %r %s: left out", given, fault)
        return None
    scope = given["scope"]
    narrowness = _SCOPES.index(frozenset(scope))
    return Rule(
        dict(scope), dict(given["controls"]), given.get("match_mode") == "regex", bool(given.get("locked")), narrowness
    )


def _fault(given: Any) -> str:
    if not isinstance(given, Mapping):
        return "is no object"
    scope, controls = given.get("scope"), given.get("controls")
    if given.keys() - {"scope", "controls", "match_mode", "locked"}:
        return "has members that no rule has"
    if not isinstance(scope, Mapping) or frozenset(scope) not in _SCOPES:
        return "has no scope of {}, operator, dag_id, or dag_id and task_id"
    if not isinstance(controls, Mapping) or not controls or controls.keys() - _CONTROLS.keys() - _IGNORED:
        return f"has no controls of {', '.join(sorted({*_CONTROLS, *_IGNORED}))}"
    if not all(isinstance(value, bool) for value in controls.values()):
        return "has a control that is neither true nor false"
    return _pattern_fault(scope, given.get("match_mode", "exact"))


def _pattern_fault(scope: Mapping[str, Any], mode: object) -> str:
    if mode not in ("exact", "regex"):
        return "has a match_mode that is neither exact nor regex"
    try:
        for pattern in scope.values():
            re.compile(pattern)
    except (re.error, TypeError) as fault:
        return f"has a pattern that can't be read ({fault})" if mode == "regex" or isinstance(fault, TypeError) else ""
    return ""
