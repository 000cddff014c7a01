"""The arguments of builders: small Python views of Spark's objects.

Each view class names the JVM class that it represents. A library adds its own by deriving from one of these::

    class PartitionedRDD(RDD, jvm_class="com.acme.PartitionedRDD"): ...

A builder defined at ``PartitionedRDD`` then receives objects of that class only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeVar

from ..plan.model import Attribute, Plan, PlanNode, plan_index

_V = TypeVar("_V", bound="View")


class View:
    """Any Spark object that builders can be defined at; ``jvm_class`` may be a full name or one without package."""

    jvm_class: ClassVar[str] = ""
    _known: ClassVar[dict[str, type[View]]] = {}

    def __init_subclass__(cls, jvm_class: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        if jvm_class:
            cls.jvm_class = jvm_class
            View._known[jvm_class] = cls

    @staticmethod
    def named(class_name: str, otherwise: type[_V]) -> type[_V]:
        """Return the view class of a JVM class if it is derived from ``otherwise``, else ``otherwise`` itself."""
        found = View._known.get(class_name) or View._known.get(class_name.rpartition(".")[2])
        return found if found is not None and issubclass(found, otherwise) else otherwise


@dataclass(frozen=True, eq=False)
class LogicalPlan(View, jvm_class="org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"):
    """A node of a logical plan: its class, its constructor's fields as plain values, its output and its children.

    ``java()`` fetches the node's py4j reference.
    """

    plan: Plan
    node: PlanNode
    _java: Callable[[int], Any] | None = None

    @property
    def class_name(self) -> str:
        """Return the full name of the node's JVM class."""
        return self.node.class_name

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the constructor's fields; a plan in a field is ``{"$plan": index}``, an expression has the key ``e``."""
        return self.node.fields

    @property
    def output(self) -> tuple[Attribute, ...]:
        """Return the node's output columns."""
        return self.node.output

    @property
    def children(self) -> tuple[LogicalPlan, ...]:
        """Return the child nodes."""
        return tuple(found for index in self.node.children if (found := self.at(index)) is not None)

    def at(self, index: int) -> LogicalPlan | None:
        """Return another node of the same plan."""
        node = self.plan[index]
        return None if node is None else logical_plan(self.plan, node, self._java)

    def field(self, name: str) -> LogicalPlan | None:
        """Return the plan node in a field, or None."""
        index = plan_index(self.node.fields.get(name))
        return None if index is None else self.at(index)

    def walk(self) -> Iterator[LogicalPlan]:
        """Yield this node and its descendants."""
        yield self
        for child in self.children:
            yield from child.walk()

    def java(self) -> Any:
        """Return the node's py4j reference, or None for a plan without a JVM."""
        return None if self._java is None else self._java(self.node.index)


def logical_plan(plan: Plan, node: PlanNode, java: Callable[[int], Any] | None = None) -> LogicalPlan:
    """Return the view of a node, of the class registered for the node's JVM class."""
    return View.named(node.class_name, LogicalPlan)(plan, node, java)


@dataclass(frozen=True, eq=False)
class QueryExecution(View, jvm_class="org.apache.spark.sql.execution.QueryExecution"):
    """One SQL execution; ``analyzed`` is its analysed plan."""

    id: int
    analyzed: LogicalPlan


@dataclass(frozen=True, eq=False)
class RDD(View, jvm_class="org.apache.spark.rdd.RDD"):
    """An RDD without the RDDs that it depends on; ``paths`` and ``files`` are what it reads itself."""

    class_name: str
    id: int = -1
    name: str | None = None
    paths: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


class HadoopRDD(RDD, jvm_class="org.apache.spark.rdd.HadoopRDD"):
    """An RDD of Hadoop files (``textFile``, ``sequenceFile``)."""


class NewHadoopRDD(RDD, jvm_class="org.apache.spark.rdd.NewHadoopRDD"):
    """An RDD of Hadoop files, of the newer Hadoop API."""


class PartitionedFile(NamedTuple):
    """A file, or a part of one, that a partition reads."""

    file_path: str


class FilePartition(NamedTuple):
    """The files of a partition."""

    files: tuple[PartitionedFile, ...]


class FileScanRDD(RDD, jvm_class="org.apache.spark.sql.execution.datasources.FileScanRDD"):
    """An RDD of the files of a file source; ``columns`` are those that it reads."""

    @property
    def file_partitions(self) -> tuple[FilePartition, ...]:
        """Return the files in a single partition, as which partition reads which file is not known here."""
        return (FilePartition(tuple(map(PartitionedFile, self.files))),)


@dataclass(frozen=True, eq=False)
class StageInfo(View, jvm_class="org.apache.spark.scheduler.StageInfo"):
    """A finished stage and its task metrics."""

    stage_id: int
    num_tasks: int = 0
    records_read: int = 0
    bytes_read: int = 0
    records_written: int = 0
    bytes_written: int = 0


@dataclass(frozen=True, eq=False)
class Stage(View, jvm_class="org.apache.spark.scheduler.Stage"):
    """A stage of the scheduler, with the chain of its RDDs as a flat sequence."""

    id: int
    rdds: tuple[RDD, ...] = ()


@dataclass(frozen=True, eq=False)
class ActiveJob(View, jvm_class="org.apache.spark.scheduler.ActiveJob"):
    """A running job; ``writes`` is the folder that its last stage writes Hadoop files to, ``kinds`` names its RDDs."""

    job_id: int
    final_stage: Stage
    call_site: str = ""
    writes: str | None = None
    stage_ids: tuple[int, ...] = field(default=())
    kinds: str = ""
