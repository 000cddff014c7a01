"""The driver's JVM, the one place that speaks py4j.

The classes of ``jvm/*.java`` are compiled inside the driver by Janino, the compiler that Spark's own code generation
uses: so no jar is needed, and what they name is checked against the very Spark that runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ..datasets.commits import Commit, commit
from ..datasets.tables import Address
from ..plan import model as plans
from ..plan.model import Plan

_UNITS = ("Tap", "PlanReader", "Products", "Leaves", "Facts", "Commits")
_QUEUE = "headwater"

JavaObject = Any
"""A py4j reference."""


# Imported at use: a program must be able to run, untold, where neither py4j nor the classic PySpark is installed.
def _thrown() -> tuple[type[BaseException], ...]:
    """What a call raises where Java threw: py4j's error, or what PySpark makes of those that it knows."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    return Py4JJavaError, CapturedException


def _failures() -> tuple[type[BaseException], ...]:
    """The same, and what py4j says of methods and classes that aren't there."""
    from py4j.protocol import Py4JError

    return *_thrown(), Py4JError


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one plan may cost: values read, milliseconds."""

    values: int = 60_000
    milliseconds: int = 2_000


def _source() -> str:
    """All classes as one compilation unit, which is what Janino compiles at a time."""
    imports: set[str] = set()
    bodies: list[str] = []
    for unit in _UNITS:
        for line in files(__package__).joinpath(f"{unit}.java").read_text("utf-8").splitlines():
            if line.startswith("import "):
                imports.add(line)
            elif not line.startswith("package "):
                bodies.append(line)
    return "\n".join(["package headwater.jvm;", *sorted(imports), *bodies])


# One set of classes for a JVM's life: py4j remembers methods by class name, and would call those of an older set.
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
    """The JVM behind a session; every method may raise py4j's errors."""

    context: JavaObject
    gateway: JavaObject
    tap: JavaObject
    loader: JavaObject
    limits: Limits = field(default_factory=Limits)
    _session: JavaObject | None = None

    @classmethod
    def attach(cls, context: Any, session: JavaObject | None = None, capacity: int = 10_000) -> Driver:
        """Compile the classes and put the tap on a listener queue of its own, so that it delays no other listener."""
        gateway = context._gateway
        loader = _compiled(gateway)
        java = context._jsc.sc()
        driver = cls(java, gateway, None, loader, _session=session)
        driver.tap = driver._new("Tap", ("org.apache.spark.SparkContext", "int"), (java, capacity))
        java.listenerBus().addToQueue(driver.tap, _QUEUE)
        return driver

    @property
    def session(self) -> JavaObject:
        """The session, from the moment that the program has one: asking for it makes none."""
        if self._session is None:
            found = self.gateway.jvm.org.apache.spark.sql.SparkSession.getDefaultSession()
            self._session = found.get() if found.isDefined() else None
        return self._session

    def detach(self) -> None:
        """Take the tap off the listener bus."""
        self.context.listenerBus().removeListener(self.tap)

    def _class(self, name: str) -> JavaObject:
        return self.loader.loadClass(f"headwater.jvm.{name}")

    def _new(self, name: str, types: tuple[str, ...], values: tuple[Any, ...]) -> JavaObject:
        jvm = self.gateway.jvm
        primitive = {"int": jvm.java.lang.Integer, "long": jvm.java.lang.Long}
        kinds = self.gateway.new_array(jvm.Class, len(types))
        given = self.gateway.new_array(jvm.Object, len(values))
        for i, (kind, value) in enumerate(zip(types, values, strict=True)):
            kinds[i] = primitive[kind].TYPE if kind in primitive else jvm.Class.forName(kind)
            given[i] = jvm.java.lang.Long.valueOf(value) if kind == "long" else value
        return self._class(name).getDeclaredConstructor(kinds).newInstance(given)

    def _static(self, name: str, method: str, *values: Any) -> Any:
        jvm = self.gateway.jvm
        found = next(m for m in self._class(name).getDeclaredMethods() if m.getName() == method)
        given = self.gateway.new_array(jvm.Object, len(values))
        for i, value in enumerate(values):
            given[i] = value
        return found.invoke(None, given)

    def poll(self, milliseconds: int) -> JavaObject | None:
        """The next listener event as an array of kind, clock, event, extra; None when none came in time."""
        return self.tap.poll(milliseconds)

    def dropped(self) -> int:
        """How many listener events found the queue full."""
        return int(self.tap.dropped())

    def analyzed(self, execution: JavaObject) -> JavaObject | None:
        """An execution's analysed plan; None where the analysis failed, of which the job itself is told."""
        try:
            return execution.analyzed()
        except _thrown():
            return None

    def reader(self) -> JavaObject:
        return self._new("PlanReader", ("int", "long"), (self.limits.values, self.limits.milliseconds))

    def plan(self, logical: JavaObject) -> Plan:
        """Read a logical plan in one call."""
        return plans.parse(self.reader().read(logical))

    def plan_and_nodes(self, logical: JavaObject) -> tuple[Plan, Callable[[int], JavaObject]]:
        """A logical plan, and the way to its nodes' py4j references."""
        reader = self.reader()
        return plans.parse(reader.read(logical)), reader.node

    def value(self, held: JavaObject) -> Any:
        """A JVM value as plain Python values, as it would stand in a plan node's fields."""
        return json.loads(self.reader().value(held))

    def metrics(self, execution: JavaObject) -> list[dict[str, Any]]:
        """The counters of the nodes that scanned or wrote, outermost first."""
        return list(self.value(self._static("Facts", "metrics", execution)))

    def metrics_so_far(self, execution: JavaObject) -> list[dict[str, Any]]:
        """The same of an execution that failed: none where it failed before it had a plan, as the job itself is told."""
        try:
            return self.metrics(execution)
        except _thrown():
            return []

    def job(self, event: JavaObject, active: JavaObject | None) -> dict[str, Any]:
        """What a job outside of SQL reads and writes."""
        return dict(self.value(self._static("Facts", "job", event, active)))

    def stream(self, query: JavaObject) -> tuple[Plan | None, dict[str, Any], dict[str, str]]:
        """A streaming query's analysed plan, its sink and its options."""
        held = self._static("Facts", "stream", query)
        if held is None:
            return None, {}, {}
        return self.plan(held[0]), dict(self.value(held[1]) or {}), dict(self.value(held[2]) or {})

    def error(self, failure: JavaObject) -> tuple[str, str]:
        """A failure's message and stack trace."""
        message = failure.getMessage()
        return str(failure if message is None else message), str(self._static("Facts", "stack", failure))

    def stage(self, info: JavaObject) -> dict[str, Any]:
        """The task metrics of a finished stage."""
        return dict(self.value(self._static("Facts", "stage", info)))


@dataclass(slots=True)
class SessionCatalog:
    """The ``Catalog`` port over a live session."""

    driver: Driver
    _learnt: tuple[str | None, str | None, bool, bool] | None = None

    @classmethod
    def of(cls, driver: Driver) -> SessionCatalog:
        return cls(driver)

    def _settings(self) -> tuple[str | None, str | None, bool, bool]:
        """What is asked of the session once."""
        if self._learnt is None:
            conf, started = self.driver.session.sessionState().conf(), self.driver.context.getConf()
            hive = started.get("spark.sql.catalogImplementation", "in-memory") == "hive"
            metastore = _metastore(started) if hive else None
            self._learnt = (str(conf.warehousePath()), metastore, hive, bool(conf.caseSensitiveAnalysis()))
        return self._learnt

    @property
    def warehouse(self) -> str | None:
        return self._settings()[0]

    @property
    def metastore(self) -> str | None:
        return self._settings()[1]

    @property
    def hive(self) -> bool:
        return self._settings()[2]

    @property
    def case_sensitive(self) -> bool:
        return self._settings()[3]

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
        return self._unless_gone(lambda: self._catalog().getTableMetadata(identifier))

    def _unless_gone(self, load: Callable[[], JavaObject | None]) -> Mapping[str, Any] | None:
        """A table that was there a moment ago: the program runs on, and may have dropped or renamed it since."""
        try:
            held = load()
        except _thrown():
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
        return self._unless_gone(lambda: self._loaded(catalog, namespace, table))

    def _loaded(self, catalog: str, namespace: tuple[str, ...], table: str) -> JavaObject | None:
        jvm = self.driver.gateway.jvm
        plugin = self.driver.session.sessionState().catalogManager().catalog(catalog or "spark_catalog")
        parts = self.driver.gateway.new_array(jvm.String, len(namespace))
        for i, part in enumerate(namespace):
            parts[i] = part
        identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(parts, table)
        return plugin.loadTable(identifier) if plugin.tableExists(identifier) else None

    def committed(self, table: Address, file_format: str, first: int, last: int) -> Commit | None:
        try:
            if file_format == "delta":
                found = self.driver._static("Commits", "delta", self.driver.context, table.location, first, last)
            else:
                held = self._loaded(table.catalog, table.namespace, table.name or "")
                found = None if held is None else self.driver._static("Commits", "iceberg", held, first, last)
        except _failures():
            return None  # gone since, or of a release that tells its versions otherwise
        return None if found is None else commit(str(found[0]), self.driver.value(found[1]))

    def catalog_conf(self, catalog: str) -> Mapping[str, str]:
        prefix = f"spark.sql.catalog.{catalog}."
        found = self.driver.value(self.driver.session.conf().getAll())
        return {key[len(prefix) :]: value for key, value in found.items() if key.startswith(prefix)}

    def parse(self, sql: str) -> Plan | None:
        try:
            return self.driver.plan(self.driver.session.sessionState().sqlParser().parsePlan(sql))
        except _failures():
            return None  # another database's dialect: its tables can't be told apart here


def _metastore(conf: JavaObject) -> str | None:
    uris = conf.get("spark.hadoop.hive.metastore.uris", conf.get("spark.sql.hive.metastore.uris", ""))
    first = uris.split(",")[0].strip()
    return first.replace("thrift://", "hive://") if first else None
