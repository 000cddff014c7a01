"""What is emitted for which task: rules by workflow, task and operator class, in the form of Airflow's ``emission_policy``.

A rule is ``{"scope": {}, "controls": {"emit": false}, "match_mode": "exact" | "regex", "locked": false}``; the scope
is empty (all), ``{"operator"}``, ``{"dag_id"}`` or ``{"dag_id", "task_id"}``. For each control the narrowest scope decides,
and within a scope the last rule; a task's author cannot change the controls of a locked rule. An invalid rule is left out
with a warning.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger(__name__)

# Control of a rule -> field of TaskPolicy; of several controls for a field the last in this order wins.
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
    """What is emitted for a task."""

    emit: bool = True
    extract: bool = True
    hook_lineage: bool = True
    include_source_code: bool = True


@dataclass(frozen=True, slots=True)
class EmissionRule:
    """A valid rule; ``narrowness`` is 0 for all tasks up to 3 for a single task."""

    scope: Mapping[str, str]
    controls: Mapping[str, bool]
    regex: bool
    locked: bool
    narrowness: int

    def matches(self, about: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether each part of the scope matches any of the task's names of that part."""
        return all(any(self._fits(pattern, name) for name in about[key]) for key, pattern in self.scope.items())

    def _fits(self, pattern: str, name: str) -> bool:
        return re.fullmatch(pattern, name) is not None if self.regex else pattern == name


@dataclass(frozen=True, slots=True)
class EmissionPolicy:
    """The rules, in the given order."""

    rules: tuple[EmissionRule, ...] = ()

    @classmethod
    def of(cls, rules: object, disabled_operators: Iterable[str] = ()) -> EmissionPolicy:
        """Return the policy of a list of rules as settings contain them; an invalid rule is left out with a warning.

        ``disabled_operators`` are full class paths or class names; they precede the rules, which may override them.
        """
        off = [{"scope": {"operator": name}, "controls": {"emit": False}} for name in disabled_operators]
        given = rules if isinstance(rules, (list, tuple)) else []
        if not isinstance(rules, (list, tuple)):
            logger.warning("an emission policy is a list of rules, this is a %s: left out", type(rules).__name__)
        read = [_read_rule(rule) for rule in [*off, *given]]
        return cls(tuple(rule for rule in read if rule is not None))

    def for_task(self, operator: object, workflow: str, task: str) -> TaskPolicy:
        """Return the policy of a task; its author may set controls with the provider's API, except for locked ones."""
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
        """Return whether events of this workflow's runs are emitted."""
        about: dict[str, tuple[str, ...]] = {"operator": (), "dag_id": (workflow,), "task_id": ()}
        emit = True
        for rule in self._matching(about):
            emit = next((rule.controls[key] for key in reversed(_WORKFLOW_CONTROLS) if key in rule.controls), emit)
        return emit

    def _matching(self, about: Mapping[str, tuple[str, ...]]) -> list[EmissionRule]:
        """Return the matching rules, the narrowest last."""
        return sorted((rule for rule in self.rules if rule.matches(about)), key=lambda rule: rule.narrowness)


def _fields(controls: Mapping[str, Any]) -> dict[str, bool]:
    """Return the fields of a ``TaskPolicy`` that these controls set."""
    return {_CONTROLS[key]: controls[key] for key in _CONTROLS if isinstance(controls.get(key), bool)}


def _authored(operator: object) -> Mapping[str, Any]:
    """Return the controls that ``extend_global_openlineage_emission_policy`` of Airflow's provider set on a task."""
    params: Any = getattr(operator, "params", None)
    given = params.get(_AUTHORED) if hasattr(params, "get") else None
    value = getattr(given, "value", given)
    return value if isinstance(value, Mapping) else {}


def _read_rule(given: Any) -> EmissionRule | None:
    fault = _fault(given)
    if fault:
        logger.warning("emission policy rule %r %s: left out", given, fault)
        return None
    scope = given["scope"]
    narrowness = _SCOPES.index(frozenset(scope))
    return EmissionRule(
        dict(scope), dict(given["controls"]), given.get("match_mode") == "regex", bool(given.get("locked")), narrowness
    )


def _fault(given: Any) -> str:
    if not isinstance(given, Mapping):
        return "is not an object"
    scope, controls = given.get("scope"), given.get("controls")
    if given.keys() - {"scope", "controls", "match_mode", "locked"}:
        return "has unknown members"
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
        return f"has an invalid pattern ({fault})" if mode == "regex" or isinstance(fault, TypeError) else ""
    return ""
