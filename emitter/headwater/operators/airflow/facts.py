"""The runs of Airflow's task instances and DAG runs, read by attributes: for Airflow 2.10 and later, and 3.

Ids, names and parents are those of Airflow's OpenLineage provider.
"""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..contract.plain import plain
from ..tasks import RunRef, TaskRun, task_run_id, workflow_run_id

logger = logging.getLogger(__name__)

LONGEST_DOCUMENT = 64 * 1024
"""The most bytes of a documentation text in UTF-8; the provider's limit."""

_DOCUMENTS = (
    ("doc", "text/plain"),
    ("doc_md", "text/markdown"),
    ("doc_json", "application/json"),
    ("doc_yaml", "application/x-yaml"),
    ("doc_rst", "text/x-rst"),
)
_WORKFLOW_DOCUMENTS = (("doc_md", "text/markdown"), ("description", "text/plain"))
_SCHEDULES = {"integration": "AIRFLOW", "processingType": "BATCH"}


def task_run_of(ti: Any, namespace: str) -> TaskRun:
    """Return the run of a task instance, of Airflow 3's task process, of Airflow 2, or of Airflow's database."""
    dag_run, dag, task, context = _surroundings(ti)
    parent = RunRef(dag_run_id(dag_run, ti.dag_id, namespace), namespace, ti.dag_id)
    return TaskRun(
        run_id=_run_id(ti, dag_run, namespace),
        namespace=namespace,
        name=f"{ti.dag_id}.{ti.task_id}",
        parent=parent,
        root=_referenced_run(getattr(dag_run, "conf", None)),
        started_at=getattr(ti, "start_date", None),
        nominal_start=_instant_or_none(getattr(dag_run, "data_interval_start", None)),
        nominal_end=_instant_or_none(getattr(dag_run, "data_interval_end", None)),
        run_facets=_run_facets(ti, dag_run, dag, task),
        job_facets={"jobType": {**_SCHEDULES, "jobType": "TASK"}, **_about(task, dag)},
        runtime_outlets=tuple(_runtime_outlets(context)),
        resumed=_resumed(ti, task, context),
        context=context,
    )


def dag_run_of(dag_run: Any, namespace: str) -> TaskRun:
    """Return the run of a DAG; its parent is the one in the trigger's ``conf`` (``{"openlineage": {"parentRunId", …}}``)."""
    dag = getattr(dag_run, "dag", None)
    conf = getattr(dag_run, "conf", None)
    parent = _referenced_run(conf, "parent")
    return TaskRun(
        run_id=dag_run_id(dag_run, dag_run.dag_id, namespace),
        namespace=namespace,
        name=dag_run.dag_id,
        parent=parent,
        root=_referenced_run(conf, "rootParent") if parent else None,
        started_at=getattr(dag_run, "start_date", None),
        nominal_start=_instant_or_none(getattr(dag_run, "data_interval_start", None)),
        nominal_end=_instant_or_none(getattr(dag_run, "data_interval_end", None)),
        run_facets={"airflowDagRun": {"dag": {"dag_id": dag_run.dag_id}, "dagRun": _dag_run_members(dag_run)}},
        job_facets={"jobType": {**_SCHEDULES, "jobType": "DAG"}, **_about(None, dag)},
    )


def dag_run_id(dag_run: Any, dag_id: str, namespace: str) -> str:
    """Return the id of a DAG run; a cleared run has another id."""
    number = getattr(dag_run, "clear_number", 0) or 0
    return workflow_run_id(namespace=namespace, workflow=dag_id, clear_number=number, instant=_instant(dag_run))


def lineage_job_namespace() -> str:
    """Return the namespace of all jobs of this Airflow."""
    from .settings import from_airflow  # a circular import

    return from_airflow().namespace


def lineage_job_name(task_instance: Any) -> str:
    """Return the job of a task: ``dag_id.task_id``."""
    return f"{task_instance.dag_id}.{task_instance.task_id}"


def lineage_run_id(task_instance: Any) -> str:
    """Return the run id of this attempt of a task, as in the provider's events."""
    return _run_id(task_instance, _surroundings(task_instance)[0], lineage_job_namespace())


def lineage_parent_id(task_instance: Any) -> str:
    """Return ``namespace/job/run id`` of a task, the form of a parent in the settings of Spark and dbt."""
    return f"{lineage_job_namespace()}/{lineage_job_name(task_instance)}/{lineage_run_id(task_instance)}"


def current_ti() -> Any:
    """Return the task instance of the current Airflow context, or None."""
    for name in ("airflow.sdk", "airflow.operators.python"):
        module = sys.modules.get(name)
        getter = getattr(module, "get_current_context", None)
        if callable(getter):
            try:
                return getter()["ti"]
            except Exception:
                logger.debug("no Airflow task runs here", exc_info=True)
    return None


def _surroundings(ti: Any) -> tuple[Any, Any, Any, Mapping[str, Any] | None]:
    """Return DAG run, DAG, task and template context; Airflow 3's task process has them in the context only."""
    dag_run = getattr(ti, "dag_run", None)
    task = getattr(ti, "task", None)
    if dag_run is not None:
        return dag_run, getattr(task, "dag", None), task, None
    context = ti.get_template_context()
    return context["dag_run"], context.get("dag"), context.get("task", task), context


def _run_id(ti: Any, dag_run: Any, namespace: str) -> str:
    return task_run_id(
        namespace=namespace,
        workflow=ti.dag_id,
        task=ti.task_id,
        try_number=ti.try_number,
        map_index=getattr(ti, "map_index", -1),
        instant=_instant(dag_run),
    )


def _instant(dag_run: Any) -> datetime:
    """Return the logical date; for a run of Airflow 3 without one the date when it was due."""
    given = getattr(dag_run, "logical_date", None) or getattr(dag_run, "run_after", None)
    instant = _instant_or_none(given)
    if instant is None:
        raise ValueError(
            f"DAG run {getattr(dag_run, 'run_id', '')!r} has neither a logical date nor a time at which it was due"
        )
    return instant


def _instant_or_none(given: Any) -> datetime | None:
    if isinstance(given, str):
        return datetime.fromisoformat(given)
    return given if isinstance(given, datetime) else None


def _resumed(ti: Any, task: Any, context: Mapping[str, Any] | None) -> bool:
    """Return whether this attempt began earlier: a resumed deferred task, or a sensor in reschedule mode."""
    given = getattr(ti, "_ti_context_from_server", None)
    if getattr(given, "next_method", None) or getattr(ti, "next_method", None):
        return True
    if not getattr(task, "reschedule", False):
        return False
    count = (context or {}).get("task_reschedule_count", 0) if context is not None else _reschedules(ti)
    return bool(count)


def _reschedules(ti: Any) -> int:
    """Return the number of reschedules of an attempt, which Airflow 2 stores in its database."""
    getter = getattr(sys.modules.get("airflow.models.taskreschedule"), "TaskReschedule", None)
    find = getattr(getter, "stmt_for_task_instance", None)
    if find is None:
        return 0
    session_of: Any = sys.modules.get("airflow.utils.session")
    with session_of.create_session() as session:
        return len(session.scalars(find(ti, descending=False)).all())


def _referenced_run(conf: Any, *prefixes: str) -> RunRef | None:
    """Return the run that a DAG run's ``conf`` names as its root, else as its parent, if all its parts are there."""
    given = conf.get("openlineage") if isinstance(conf, Mapping) else None
    if not isinstance(given, Mapping):
        return None
    for prefix in prefixes or ("rootParent", "parent"):
        parts = [given.get(f"{prefix}{part}") for part in ("RunId", "JobNamespace", "JobName")]
        if all(parts) and _is_uuid(parts[0]):
            return RunRef(*(str(part) for part in parts))
        if any(parts):
            logger.warning("the %s in the DAG run's conf is incomplete and left out: %s", prefix, parts)
    return None


def _is_uuid(text: object) -> bool:
    try:
        uuid.UUID(str(text))
    except ValueError:
        return False
    return True


def _about(task: Any, dag: Any) -> dict[str, Any]:
    """Return the facets of documentation, owners and tags: the task's, else the DAG's."""
    facets: dict[str, Any] = {}
    document = _document(task, _DOCUMENTS) or _document(dag, _WORKFLOW_DOCUMENTS)
    if document:
        facets["documentation"] = dict(zip(("description", "contentType"), document, strict=True))
    owners = _owners(task, dag)
    if owners:
        facets["ownership"] = {"owners": [{"name": name} for name in owners]}
    tags = sorted(str(tag) for tag in getattr(dag, "tags", None) or ())
    if tags:
        facets["tags"] = {"tags": [{"key": tag, "value": tag, "source": "AIRFLOW"} for tag in tags]}
    return facets


def _document(of: Any, kinds: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    for attribute, content_type in kinds:
        text = getattr(of, attribute, None)
        if text and isinstance(text, str):
            return text.encode()[:LONGEST_DOCUMENT].decode(errors="ignore"), content_type
    return None


def _owners(task: Any, dag: Any) -> list[str]:
    owner = getattr(task, "owner", None)
    # Airflow's default owner is not a name.
    of = getattr(dag, "owner", None) or owner if owner in (None, "airflow") else owner
    return sorted({name.strip() for name in str(of or "").split(",") if name.strip()})


def _run_facets(ti: Any, dag_run: Any, dag: Any, task: Any) -> dict[str, Any]:
    map_index = getattr(ti, "map_index", -1)
    operator = f"{type(task).__module__}.{type(task).__qualname__}"
    members = {
        "dag": {"dag_id": ti.dag_id, "tags": sorted(str(tag) for tag in getattr(dag, "tags", None) or ())},
        "dagRun": _dag_run_members(dag_run),
        "task": {"task_id": ti.task_id, "operator_class": type(task).__name__, "operator_class_path": operator},
        "taskInstance": {"try_number": ti.try_number, "map_index": map_index},
    }
    mapped = {} if map_index == -1 else {"airflow_mappedTask": {"mapIndex": map_index, "operatorClass": operator}}
    return {"airflow": members, **mapped}


def _dag_run_members(dag_run: Any) -> dict[str, Any]:
    members = {
        name: _json_value(getattr(dag_run, name, None))
        for name in ("run_id", "run_type", "logical_date", "run_after", "clear_number")
    }
    return {name: value for name, value in members.items() if value is not None}


def _json_value(value: Any) -> Any:
    return plain(value) if isinstance(value, (str, int, datetime, timedelta)) else None


def _runtime_outlets(context: Mapping[str, Any] | None) -> Iterator[Any]:
    """Yield the assets that the task added while it ran (Airflow 3: ``outlet_events``)."""
    events: Any = (context or {}).get("outlet_events") or {}
    for key in events:
        accessor = events[key]
        for event in getattr(accessor, "asset_alias_events", None) or ():
            yield event.dest_asset_key
        if hasattr(key, "uri") and getattr(accessor, "extra", None):
            yield key
