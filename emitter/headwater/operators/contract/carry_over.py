"""What an operator learns in `execute` and its lineage methods need, kept with the task instead of on the operator.

Attributes set in ``execute`` are lost when a task is deferred: another process goes on with a fresh operator. What is
put here is stored at once, as JSON, where the scheduler keeps things between the processes of one attempt (Airflow:
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
    """A task instance that keeps values itself: they must outlast a deferral, and be gone in the next attempt."""

    def load_carry_over(self) -> dict[str, Any]: ...

    def save_carry_over(self, values: dict[str, Any]) -> None: ...


class CarryOver(MutableMapping[str, Any]):
    """A mapping that is stored with the task at every change; values come back as JSON has them."""

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
    """Airflow's way: one XCom under the task's own key, which Airflow clears when a new attempt begins."""

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
    """The values kept with this task instance. Raises `ConfigError` for one that keeps none and has no XComs."""
    if isinstance(ti, KeepsCarryOver):
        return CarryOver(ti)
    if callable(getattr(ti, "xcom_push", None)) and callable(getattr(ti, "xcom_pull", None)):
        return CarryOver(_XComStore(ti))
    raise ConfigError(
        f"a {type(ti).__name__} keeps no values: it has neither load_carry_over and save_carry_over nor XComs"
    )
