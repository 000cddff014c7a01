"""What Airflow's task instances tell of their run, read by shape: the same for 2.10 and later and for 3.

Ids, names and parents are those that Airflow's OpenLineage provider gives.
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
"""Bytes of a documentation text in UTF-8; the provider's bound."""

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
    """The run of an Airflow task instance: of Airflow 3's task process, of Airflow 2's, or of its database."""
    dag_run, dag, task, context = _surroundings(ti)
    parent = RunRef(dag_run_id(dag_run, ti.dag_id, namespace), namespace, ti.dag_id)
    return TaskRun(
        run_id=_run_id(ti, dag_run, namespace),
        namespace=namespace,
        name=f"{ti.dag_id}.{ti.task_id}",
        parent=parent,
        root=_told_run(getattr(dag_run, "conf", None)),
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
    """The run of a DAG; its parent is what triggered it, if the trigger's ``conf`` tells (``{"openlineage":
    {"parentRunId", …}}``)."""
    dag = getattr(dag_run, "dag", None)
    conf = getattr(dag_run, "conf", None)
    parent = _told_run(conf, "parent")
    return TaskRun(
        run_id=dag_run_id(dag_run, dag_run.dag_id, namespace),
        namespace=namespace,
        name=dag_run.dag_id,
        parent=parent,
        root=_told_run(conf, "rootParent") if parent else None,
        started_at=getattr(dag_run, "start_date", None),
        nominal_start=_instant_or_none(getattr(dag_run, "data_interval_start", None)),
        nominal_end=_instant_or_none(getattr(dag_run, "data_interval_end", None)),
        run_facets={"airflowDagRun": {"dag": {"dag_id": dag_run.dag_id}, "dagRun": _dag_run_members(dag_run)}},
        job_facets={"jobType": {**_SCHEDULES, "jobType": "DAG"}, **_about(None, dag)},
    )


def dag_run_id(dag_run: Any, dag_id: str, namespace: str) -> str:
    """The id of a DAG run; clearing it gives it another one."""
    number = getattr(dag_run, "clear_number", 0) or 0
    return workflow_run_id(namespace=namespace, workflow=dag_id, clear_number=number, instant=_instant(dag_run))


def lineage_job_namespace() -> str:
    """The namespace of all jobs of this Airflow."""
    from .settings import from_airflow  # settings read facts through the listener

    return from_airflow().namespace


def lineage_job_name(task_instance: Any) -> str:
    """The job of a task: ``dag_id.task_id``."""
    return f"{task_instance.dag_id}.{task_instance.task_id}"


def lineage_run_id(task_instance: Any) -> str:
    """The run id of this attempt of a task, the one that the provider's events carry."""
    return _run_id(task_instance, _surroundings(task_instance)[0], lineage_job_namespace())


def lineage_parent_id(task_instance: Any) -> str:
    """``namespace/job/run id`` of a task, as Spark and dbt take it for their parent."""
    return f"{lineage_job_namespace()}/{lineage_job_name(task_instance)}/{lineage_run_id(task_instance)}"


def current_ti() -> Any:
    """The task instance that runs in this context of Airflow, or None."""
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
    """DAG run, DAG, task, template context. Airflow 3's task process has them in the context only, the others as
    attributes."""
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
    """The logical date; a run of Airflow 3 that has none is known by when it was due."""
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
    """Whether this attempt has begun before: a deferred task goes on, a sensor in reschedule mode looks again."""
    told = getattr(ti, "_ti_context_from_server", None)
    if getattr(told, "next_method", None) or getattr(ti, "next_method", None):
        return True
    if not getattr(task, "reschedule", False):
        return False
    count = (context or {}).get("task_reschedule_count", 0) if context is not None else _reschedules(ti)
    return bool(count)


def _reschedules(ti: Any) -> int:
    """Airflow 2 keeps them in its database, and says so on the task instance's model."""
    getter = getattr(sys.modules.get("airflow.models.taskreschedule"), "TaskReschedule", None)
    find = getattr(getter, "stmt_for_task_instance", None)
    if find is None:
        return 0
    session_of: Any = sys.modules.get("airflow.utils.session")
    with session_of.create_session() as session:
        return len(session.scalars(find(ti, descending=False)).all())


def _told_run(conf: Any, *prefixes: str) -> RunRef | None:
    """The run that a DAG run's ``conf`` names as its root (else its parent), if id, namespace and name are all
    there."""
    told = conf.get("openlineage") if isinstance(conf, Mapping) else None
    if not isinstance(told, Mapping):
        return None
    for prefix in prefixes or ("rootParent", "parent"):
        parts = [told.get(f"{prefix}{part}") for part in ("RunId", "JobNamespace", "JobName")]
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
    """Documentation, owners and tags: the task's, where it has none the DAG's."""
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
    # Airflow's default owner says nothing.
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
        name: _told(getattr(dag_run, name, None))
        for name in ("run_id", "run_type", "logical_date", "run_after", "clear_number")
    }
    return {name: value for name, value in members.items() if value is not None}


def _told(value: Any) -> Any:
    return plain(value) if isinstance(value, (str, int, datetime, timedelta)) else None


def _runtime_outlets(context: Mapping[str, Any] | None) -> Iterator[Any]:
    """Assets that the task attached while it ran (Airflow 3: ``outlet_events``)."""
    events: Any = (context or {}).get("outlet_events") or {}
    for key in events:
        accessor = events[key]
        for event in getattr(accessor, "asset_alias_events", None) or ():
            yield event.dest_asset_key
        if hasattr(key, "uri") and getattr(accessor, "extra", None):
            yield key
