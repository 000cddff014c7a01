"""Values that ``execute`` stores with the task, for the lineage methods to read.

Attributes set in ``execute`` are lost when a task is deferred, because another process continues with a new operator. These
values are stored immediately, as JSON, where the scheduler stores data between the processes of an attempt (Airflow: in
an XCom of the task). ``carry_over(context["ti"])["table"] = name`` in ``execute``, ``carry_over(ti).get("table")`` in
the lineage method.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, Protocol, runtime_checkable

from headwater_avro.errors import ConfigError

from .plain import plain

XCOM_KEY = "headwater_carry_over"


@runtime_checkable
class KeepsCarryOver(Protocol):
    """A task instance that stores values itself: they must survive a deferral, but not be visible to the next attempt."""

    def load_carry_over(self) -> dict[str, Any]: ...

    def save_carry_over(self, values: dict[str, Any]) -> None: ...


class CarryOver(MutableMapping[str, Any]):
    """A mapping that is stored with the task at every change; values are returned as JSON types."""

    def __init__(self, store: KeepsCarryOver) -> None:
        self._store = store

    def __getitem__(self, key: str) -> Any:
        return self._store.load_carry_over()[key]

    def __setitem__(self, key: str, value: object) -> None:
        self._store.save_carry_over({**self._store.load_carry_over(), key: plain(value)})

    def __delitem__(self, key: str) -> None:
        values = self._store.load_carry_over()
        del values[key]
        self._store.save_carry_over(values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._store.load_carry_over())

    def __len__(self) -> int:
        return len(self._store.load_carry_over())


class _XComStore:
    """Storage in an XCom of the task, which Airflow clears when a new attempt begins."""

    def __init__(self, ti: Any) -> None:
        self._ti = ti

    def load_carry_over(self) -> dict[str, Any]:
        pulled = self._ti.xcom_pull(
            task_ids=self._ti.task_id, key=XCOM_KEY, map_indexes=getattr(self._ti, "map_index", -1)
        )
        return dict(pulled) if isinstance(pulled, dict) else {}

    def save_carry_over(self, values: dict[str, Any]) -> None:
        self._ti.xcom_push(key=XCOM_KEY, value=values)


def carry_over(ti: Any) -> CarryOver:
    """Return the values stored with this task instance; raise ``ConfigError`` if it has neither storage nor XComs."""
    if isinstance(ti, KeepsCarryOver):
        return CarryOver(ti)
    if callable(getattr(ti, "xcom_push", None)) and callable(getattr(ti, "xcom_pull", None)):
        return CarryOver(_XComStore(ti))
    raise ConfigError(
        f"a {type(ti).__name__} cannot store values: it needs load_carry_over and save_carry_over, or XComs"
    )
