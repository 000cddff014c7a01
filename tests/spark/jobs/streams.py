"""Streams: into files, into a table, and by a function for each batch."""

from typing import Any

from pyspark.sql import SparkSession
from tests.spark.samples import orders, work

spark = SparkSession.builder.appName("streams").getOrCreate()
o = spark.read.parquet(orders())
out = f"{work()}/out"

arriving = spark.readStream.schema(o.schema).parquet(f"{work()}/in")


def each(batch: Any, number: int) -> None:
    batch.groupBy("status").count().write.mode("append").parquet(f"{out}/batches")


def run(writer: Any, name: str) -> Any:
    return writer.option("checkpointLocation", f"{work()}/checkpoints/{name}").trigger(availableNow=True)


run(arriving.writeStream.foreachBatch(each), "each").start().awaitTermination()
doubled = arriving.selectExpr("amount * 2 as twice", "status")
run(doubled.writeStream.format("json").option("path", f"{out}/doubled"), "files").start().awaitTermination()
spark.sql("create table streamed (order_id long, status string) using parquet")
run(arriving.select("order_id", "status").writeStream, "table").toTable("streamed").awaitTermination()
spark.stop()
