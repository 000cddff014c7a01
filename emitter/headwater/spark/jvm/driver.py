"""The driver's JVM: the only module that calls py4j.

The Java classes of this package are compiled inside the driver by Janino, the compiler of Spark's code generation. So no jar
is needed, and the names that they use are checked against the Spark release that runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any

from ...producer import VERSION
from ..datasets.commits import Commit, commit
from ..datasets.names import folder_partition, partition_values
from ..datasets.tables import Address
from ..plan import model as plans
from ..plan.model import Plan

_UNITS = ("Tap", "PlanReader", "Values", "Demand", "Reported", "Products", "Leaves", "Facts", "Commits")
_QUEUE = "headwater"
_CAPACITY = 10_000
"""The most listener events that wait for Python."""

JavaObject = Any
"""A py4j reference."""


# Imported at use: a program must run, without lineage, where neither py4j nor the classic PySpark is installed.
def _java_errors() -> tuple[type[BaseException], ...]:
    """Return the types of a Java exception: py4j's error, or PySpark's own for exceptions that it knows."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    return Py4JJavaError, CapturedException


def _py4j_errors() -> tuple[type[BaseException], ...]:
    """Return the types of Java exceptions and of py4j's errors for missing methods and classes."""
    from py4j.protocol import Py4JError

    return *_java_errors(), Py4JError


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """The most values and milliseconds of reading one plan."""

    values: int = 400_000
    milliseconds: int = 2_000


def _source() -> str:
    """Return all classes as a single compilation unit, as Janino compiles one unit at a time."""
    imports: set[str] = set()
    bodies: list[str] = []
    for unit in _UNITS:
        for line in files(__package__).joinpath(f"{unit}.java").read_text("utf-8").splitlines():
            if line.startswith("import "):
                imports.add(line)
            elif not line.startswith("package "):
                bodies.append(line)
    return "\n".join(["package headwater.jvm;", *sorted(imports), *bodies])


# Compiled once per JVM: py4j caches methods by class name, and would call those of the earlier classes.
_loaders: dict[int, tuple[JavaObject, JavaObject]] = {}


def _compiled(gateway: JavaObject) -> JavaObject:
    known = _loaders.get(id(gateway))
    if known is not None and known[0] is gateway:
        return known[1]
    jvm = gateway.jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
    compiler.cook(_source())
    _loaders[id(gateway)] = (gateway, compiler.getClassLoader())
    return _loaders[id(gateway)][1]


@dataclass(slots=True)
class Driver:
    """The JVM of a session; every method may raise py4j's errors."""

    context: JavaObject
    gateway: JavaObject
    tap: JavaObject
    loader: JavaObject
    limits: PlanLimits = field(default_factory=PlanLimits)
    _session: JavaObject | None = None

    @classmethod
    def attach(cls, context: Any, session: JavaObject | None = None, all_jobs: bool = False) -> Driver:
        """Compile the classes and register the tap on its own listener queue, so that it does not delay other listeners.

        ``all_jobs`` is whether the jobs of SQL executions are wanted with their RDDs, too.
        """
        gateway = context._gateway
        loader = _compiled(gateway)
        java = context._jsc.sc()
        driver = cls(java, gateway, None, loader, _session=session)
        kinds = ("org.apache.spark.SparkContext", "int", "boolean")
        driver.tap = driver._new("Tap", kinds, (java, _CAPACITY, all_jobs))
        java.listenerBus().addToQueue(driver.tap, _QUEUE)
        return driver

    @property
    def session(self) -> JavaObject:
        """Return the program's session, or None before it has one; never create a session."""
        if self._session is None:
            default = self.gateway.jvm.org.apache.spark.sql.SparkSession.getDefaultSession()
            self._session = default.get() if default.isDefined() else None
        return self._session

    def _class(self, name: str) -> JavaObject:
        return self.loader.loadClass(f"headwater.jvm.{name}")

    def _new(self, name: str, types: tuple[str, ...], values: tuple[Any, ...]) -> JavaObject:
        jvm = self.gateway.jvm
        primitive = {"int": jvm.java.lang.Integer, "long": jvm.java.lang.Long, "boolean": jvm.java.lang.Boolean}
        kinds = self.gateway.new_array(jvm.Class, len(types))
        for i, kind in enumerate(types):
            kinds[i] = primitive[kind].TYPE if kind in primitive else jvm.Class.forName(kind)
        longs = [jvm.java.lang.Long.valueOf(v) if k == "long" else v for k, v in zip(types, values, strict=True)]
        return self._class(name).getDeclaredConstructor(kinds).newInstance(self._array(jvm.Object, longs))

    def _static(self, name: str, method: str, *values: Any) -> Any:
        # Only public methods: a private one may have the same name, and Java lists methods in any order.
        found = next(m for m in self._class(name).getMethods() if m.getName() == method)
        return found.invoke(None, self._array(self.gateway.jvm.Object, values))

    def _array(self, kind: JavaObject, values: Sequence[Any]) -> JavaObject:
        array = self.gateway.new_array(kind, len(values))
        for i, value in enumerate(values):
            array[i] = value
        return array

    def poll(self, milliseconds: int) -> JavaObject | None:
        """Return the next listener event as an array of kind, clock, event, extra; None if there is none in time."""
        return self.tap.poll(milliseconds)

    def dropped(self) -> int:
        """Return the number of listener events that were dropped because the queue was full."""
        return int(self.tap.dropped())

    def analyzed(self, execution: JavaObject) -> JavaObject | None:
        """Return an execution's analysed plan; None where the analysis failed, as Spark raises that error to the job."""
        try:
            return execution.analyzed()
        except _java_errors():
            return None

    def reader(self) -> JavaObject:
        return self._new("PlanReader", ("int", "long"), (self.limits.values, self.limits.milliseconds))

    def plan(self, logical: JavaObject) -> Plan:
        """Return a logical plan, read in one call."""
        return plans.parse(self.reader().read(logical))

    def plan_and_nodes(self, logical: JavaObject) -> tuple[Plan, Callable[[int], JavaObject]]:
        """Return a logical plan, and a function that returns the py4j reference of a node by its index."""
        reader = self.reader()
        return plans.parse(reader.read(logical)), reader.node

    def value(self, held: JavaObject) -> Any:
        """Return a JVM value as plain Python values, in the form of a plan node's fields."""
        return json.loads(self.reader().value(held))

    def metrics(self, execution: JavaObject) -> list[dict[str, Any]]:
        """Return the counters of the nodes that scanned or wrote, outermost first."""
        return list(self.value(self._static("Facts", "metrics", execution)))

    def metrics_so_far(self, execution: JavaObject) -> list[dict[str, Any]]:
        """Return the counters of an execution that failed; none where it failed before it had a plan."""
        try:
            return self.metrics(execution)
        except _java_errors():
            return []

    def job(self, event: JavaObject, active: JavaObject | None) -> dict[str, Any]:
        """Return the RDDs, stages and output folder of a job, as ``Facts.java`` describes them."""
        return dict(self.value(self._static("Facts", "job", event, active)))

    def stream(self, query: JavaObject) -> tuple[Plan | None, dict[str, Any], dict[str, str], dict[str, Any]]:
        """Return a streaming query's analysed plan, its sink, its options, and the table that it writes into."""
        held = self._static("Facts", "stream", query)
        if held is None:
            return None, {}, {}, {}
        sink, options, table = (dict(self.value(part) or {}) for part in (held[1], held[2], held[3]))
        return self.plan(held[0]), sink, options, table

    def stream_tags(self, event: JavaObject) -> str:
        """Return the job tags of a streaming query's start, joined by commas; PySpark 3.5 has none."""
        return str(self._static("Facts", "tags", event))

    def error(self, failure: JavaObject) -> tuple[str, str]:
        """Return the message and stack trace of a Java exception."""
        message = failure.getMessage()
        return str(failure if message is None else message), str(self._static("Facts", "stack", failure))

    def replaces_partitions(self, start: JavaObject) -> bool:
        """Return whether overwrites replace only partitions with new rows, as an execution's start has the setting."""
        # The session's present setting may be a later one.
        name = "spark.sql.sources.partitionOverwriteMode"
        own = start.modifiedConfigs().get(name)
        mode = own.get() if own.isDefined() else self.context.getConf().get(name, "static")
        return str(mode).lower() == "dynamic"

    def stage(self, info: JavaObject) -> dict[str, Any]:
        """Return the task metrics of a finished stage."""
        return dict(self.value(self._static("Facts", "stage", info)))


@dataclass
class SessionCatalog:
    """The ``Catalog`` port over a live session, whose settings are read once."""

    driver: Driver

    @classmethod
    def of(cls, driver: Driver) -> SessionCatalog:
        return cls(driver)

    @cached_property
    def glue(self) -> str | None:
        return _glue(self.driver.context.getConf())

    @cached_property
    def warehouse(self) -> str | None:
        return str(self.driver.session.sessionState().conf().warehousePath())

    @cached_property
    def metastore(self) -> str | None:
        return _metastore(self.driver.context.getConf()) if self.hive else None

    @cached_property
    def hive(self) -> bool:
        return bool(self.driver.context.getConf().get("spark.sql.catalogImplementation", "in-memory") == "hive")

    @cached_property
    def case_sensitive(self) -> bool:
        return bool(self.driver.session.sessionState().conf().caseSensitiveAnalysis())

    def _catalog(self) -> JavaObject:
        return self.driver.session.sessionState().catalog()

    def _identifier(self, database: str | None, table: str) -> JavaObject:
        jvm = self.driver.gateway.jvm
        option = jvm.scala.Option.apply(database)
        return jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, option)

    def table(self, database: str | None, table: str) -> Mapping[str, Any] | None:
        identifier = self._identifier(database, table)
        if not self._catalog().tableExists(identifier):
            return None
        return self._loaded_value(lambda: self._catalog().getTableMetadata(identifier))

    def _loaded_value(self, load: Callable[[], JavaObject | None]) -> Mapping[str, Any] | None:
        """Return a table; None if the program, which runs at the same time, has dropped or renamed it."""
        try:
            held = load()
        except _java_errors():
            held = None
        if held is None:
            return None
        found: Mapping[str, Any] = self.driver.value(held)
        return found

    def default_location(self, database: str | None, table: str) -> str | None:
        uri = self._catalog().defaultTablePath(self._identifier(database, table))
        return str(self.driver.gateway.jvm.org.apache.hadoop.fs.Path(uri).toString())

    def current_database(self) -> str:
        return str(self._catalog().getCurrentDatabase())

    def loaded(self, catalog: str, namespace: tuple[str, ...], table: str) -> Mapping[str, Any] | None:
        return self._loaded_value(lambda: self._loaded(catalog, namespace, table))

    def _loaded(self, catalog: str, namespace: tuple[str, ...], table: str) -> JavaObject | None:
        jvm = self.driver.gateway.jvm
        plugin = self.driver.session.sessionState().catalogManager().catalog(catalog or "spark_catalog")
        parts = self.driver._array(jvm.String, namespace)
        identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(parts, table)
        return plugin.loadTable(identifier) if plugin.tableExists(identifier) else None

    def committed(self, table: Address, file_format: str, first: int, last: int) -> Commit | None:
        try:
            if file_format == "delta":
                found = self.driver._static("Commits", "delta", self.driver.context, table.location, first, last)
            else:
                held = self._loaded(table.catalog, table.namespace, table.name or "")
                found = None if held is None else self.driver._static("Commits", "iceberg", held, first, last)
        except _py4j_errors():
            return None  # dropped since, or of a release with another form of versions
        return None if found is None else commit(str(found[0]), self.driver.value(found[1]), bool(found[2]))

    def written_partitions(
        self, table: Address, file_format: str, depth: int, first: int, last: int
    ) -> tuple[Mapping[str, str], ...]:
        context, location = self.driver.context, table.location
        try:
            if file_format == "delta":
                found = self.driver._static("Commits", "deltaPartitions", context, location, first, last)
            elif file_format == "iceberg":
                held = self._loaded(table.catalog, table.namespace, table.name or "")
                found = None if held is None else self.driver._static("Commits", "icebergPartitions", held, first, last)
            else:
                found = self.driver._static("Commits", "partitions", context, location, depth, first, last)
        except _py4j_errors():
            return ()  # dropped since, or the next write removes folders meanwhile
        listed = [] if found is None else self.driver.value(found)
        return tuple(partition_values(part) if isinstance(part, dict) else folder_partition(part) for part in listed)

    def settings(self, start: str) -> Mapping[str, str]:
        found = self.driver.value(self.driver.session.conf().getAll())
        return {key: value for key, value in found.items() if key.startswith(start)}

    def catalog_conf(self, catalog: str) -> Mapping[str, str]:
        prefix = f"spark.sql.catalog.{catalog}."
        return {key.removeprefix(prefix): value for key, value in self.settings(prefix).items()}

    def parse(self, sql: str) -> Plan | None:
        try:
            return self.driver.plan(self.driver.session.sessionState().sqlParser().parsePlan(sql))
        except _py4j_errors():
            return None  # another database's dialect, whose table names are not known here


def _metastore(conf: JavaObject) -> str | None:
    uris = conf.get("spark.hadoop.hive.metastore.uris", conf.get("spark.sql.hive.metastore.uris", ""))
    first = uris.split(",")[0].strip()
    return first.replace("thrift://", "hive://") if first else None


_GLUE_ACCOUNTS = ("spark.hadoop.hive.metastore.glue.catalogid", "hive.metastore.glue.catalogid", "spark.glue.accountId")


def _glue(conf: JavaObject) -> str | None:
    """Return the ARN of AWS Glue's catalog, where settings name the account and the environment the region."""
    account = next((found for name in _GLUE_ACCOUNTS if (found := conf.get(name, ""))), None)
    region = os.environ.get("AWS_DEFAULT_REGION") or os.environ.get("AWS_REGION")
    return f"arn:aws:glue:{region}:{account}" if account and region else None


def debug_facts(context: Any, conf: Mapping[str, str]) -> dict[str, Any]:
    """Return what the debug facet has of the process: versions, the system, and the names of lineage settings and jars."""
    jvm = context._gateway.jvm
    system = {name: str(jvm.System.getProperty(key)) for name, key in _SYSTEM.items()}
    jars = [jar for key in ("spark.jars", "spark.jars.packages") for jar in conf.get(key, "").split(",") if jar]
    scala = str(jvm.scala.util.Properties.versionNumberString())
    classpath = {"sparkVersion": context.version, "openLineageVersion": VERSION, "scalaVersion": scala, "jars": jars}
    # Not their values, which may be secrets.
    config = {"settings": sorted(key for key in conf if key.startswith("spark.openlineage."))}
    return {"config": config, "classpath": classpath, "system": {**system, "sparkDeployMode": context.master}}


_SYSTEM = {
    "javaVersion": "java.version",
    "javaVendor": "java.vendor",
    "osName": "os.name",
    "osVersion": "os.version",
    "userTimezone": "user.timezone",
}
