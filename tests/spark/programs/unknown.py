"""Connectors that headwater does not know: Python data sources, classes on the JVM, and some that report their lineage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)
from tests.spark.samples import orders, work

spark = SparkSession.builder.appName("unknown").getOrCreate()
o = spark.read.parquet(orders())
out = f"{work()}/out"


class Rows(DataSourceReader):
    def read(self, partition: Any) -> Iterator[Any]:
        yield (1, 2.0)


class Sink(DataSourceWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return WriterCommitMessage()


class Arriving(SimpleDataSourceStreamReader):
    def initialOffset(self) -> dict[str, Any]:
        return {"row": 0}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[Any], dict[str, Any]]:
        return iter([(1, 2.0)] if start["row"] == 0 else []), {"row": 1}

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[Any]:
        return iter([(1, 2.0)])

    def commit(self, end: dict[str, Any]) -> None:
        pass


class StreamSink(DataSourceStreamWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return WriterCommitMessage()

    def commit(self, messages: Any, batchId: int) -> None:
        pass

    def abort(self, messages: Any, batchId: int) -> None:
        pass


class Shop(DataSource):
    @classmethod
    def name(cls) -> str:
        return "shop"

    def schema(self) -> str:
        return "order_id bigint, amount double"

    def reader(self, schema: Any) -> DataSourceReader:
        return Rows()

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        return Sink()

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:
        return Arriving()

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        return StreamSink()


spark.dataSource.register(Shop)
named = {"table": "public.orders", "url": "https://me:hunter2@shop.example:8443/api?token=abc"}
spark.read.format("shop").options(**named).load().write.parquet(f"{out}/python_named")
spark.read.format("shop").load().write.parquet(f"{out}/python_unnamed")
o.select("order_id", "amount").write.format("shop").options(**named).mode("append").save()
o.select("order_id", "amount").write.format("shop").mode("append").save()
spark.read.format("shop").load().collect()
for name, source, sink in (("named", named, {"table": "public.copies"}), ("unnamed", {}, {})):
    writer = spark.readStream.format("shop").options(**source).load().writeStream.format("shop").options(**sink)
    writer = writer.queryName(name).option("checkpointLocation", f"{work()}/checkpoints/{name}").trigger(once=True)
    writer.start().awaitTermination()

jvm: Any = spark._jvm
gateway: Any = spark.sparkContext._gateway
session = spark._jsparkSession
compiler = jvm.org.codehaus.janino.SimpleCompiler()
compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
compiler.cook((Path(__file__).parent / "Connector.java").read_text())
loader = compiler.getClassLoader()
jvm.Thread.currentThread().setContextClassLoader(loader)


def made(name: str, *values: Any) -> Any:
    """Return a new object of a class of ``Connector.java``."""
    constructor = loader.loadClass(f"com.acme.openlineage.v1.{name}").getConstructors()[0]
    array = gateway.new_array(jvm.Object, len(values))
    for number, value in enumerate(values):
        array[number] = value
    return constructor.newInstance(array)


def frame(java: Any) -> DataFrame:
    return DataFrame(java, spark)


ACME = "com.acme.openlineage.v1"
opened = spark.read.format(f"{ACME}.UnknownSource").option("path", "s3a://bucket/acme/in").load()
opened.write.parquet(f"{out}/class_named")
spark.read.format(f"{ACME}.UnknownSource").load().write.parquet(f"{out}/class_unnamed")
o.write.format(f"{ACME}.UnknownSource").option("dbtable", "sales").option("password", "hunter2").mode("append").save()
o.write.format(f"{ACME}.UnknownSource").mode("append").save()

relation = made("KnownRelation", session.sqlContext())
frame(session.baseRelationToDataFrame(relation)).write.parquet(f"{out}/relation")
o.write.format(f"{ACME}.KnownSource").option("place", "there").mode("append").save()
makers = loader.loadClass(f"{ACME}.AcmeScan").getDeclaredMethods()
node = next(method for method in makers if method.getName() == "make").invoke(None, None)
frame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, node)).write.parquet(f"{out}/node")
spark.range(3).write.format("noop").mode("overwrite").save()
spark.stop()
