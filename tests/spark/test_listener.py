"""The worker between the JVM and the application's state, with a fake driver."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from headwater.spark.jvm import driver
from headwater.spark.listener import Listener
from headwater.spark.plan.model import Plan

from .plans import files, insert, plan
from .test_application import application

WRITE = plan(insert(1), files("file:/in/t", (1, "a")))


class Option:
    """A Scala option."""

    def __init__(self, held: Any = None) -> None:
        self.held = held

    def isDefined(self) -> bool:
        return self.held is not None

    def get(self) -> Any:
        return self.held


class Driver:
    """A driver whose every execution has the same plan."""

    def analyzed(self, execution: Any) -> Any:
        return execution

    def plan_and_nodes(self, logical: Any) -> tuple[Plan, Any]:
        return WRITE, None

    def replaces_partitions(self, start: Any) -> bool:
        return False

    def metrics(self, execution: Any) -> list[Any]:
        return []


def started(number: int) -> Any:
    info = SimpleNamespace(nodeName=lambda: "Execute InsertIntoHadoopFsRelationCommand")
    return SimpleNamespace(
        executionId=lambda: number,
        rootExecutionId=Option,
        description=lambda: "",
        time=lambda: 1000,
        details=lambda: "",
        sparkPlanInfo=lambda: info,
        jobTags=lambda: SimpleNamespace(mkString=lambda separator: ""),
    )


def ended(number: int) -> Any:
    return SimpleNamespace(executionId=lambda: number, time=lambda: 2000, executionFailure=Option, errorMessage=Option)


class Converted(CapturedException):
    """PySpark's exception for a Java exception that it knows, without a JVM."""

    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(
    "error",
    [Converted(), Py4JJavaError("failed", SimpleNamespace(_target_id="o1"))],
    ids=["PySpark's exception", "py4j's exception"],
)
def test_a_failed_analysis_is_not_a_fault_of_the_emitter(error: Exception) -> None:
    class Execution:
        def analyzed(self) -> Any:
            raise error

    assert driver.Driver(None, None, None, None).analyzed(Execution()) is None


def test_an_execution_without_a_plan_at_its_start_is_reported_at_its_end() -> None:
    app, events = application()
    listener = Listener(Driver(), app)  # type: ignore[arg-type]
    listener.sql_start(0, started(7), None)
    assert events == []
    listener.sql_end(0, ended(7), "the execution")
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert [event["eventTime"][17:19] for event in events] == ["01", "02"]
    listener.sql_start(0, started(8), None)
    listener.sql_end(0, ended(8), None)
    assert len(events) == 2
    assert listener.faults == 0


def test_an_execution_with_a_plan_at_its_start_is_reported_once() -> None:
    app, events = application()
    listener = Listener(Driver(), app)  # type: ignore[arg-type]
    listener.sql_start(0, started(7), "the execution")
    listener.sql_end(0, ended(7), "the execution")
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]


def test_each_static_method_that_python_calls_has_one_public_form() -> None:
    sources = Path(driver.__file__).parent
    called = set(re.findall(r"_static\(\s*\"(\w+)\", \"(\w+)\"", Path(driver.__file__).read_text()))
    assert ("Commits", "partitions") in called
    for name, method in called:
        forms = re.findall(rf"public static [^(]*\b{method}\(", (sources / f"{name}.java").read_text())
        assert len(forms) == 1, (name, method)
