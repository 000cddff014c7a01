"""Rows that generators, predicates and duplicates drop, the parts that writes replace, structs, and streams' statistics."""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import orders, work

spark = SparkSession.builder.appName("rows").getOrCreate()
o = spark.read.parquet(orders())
o.createOrReplaceTempView("o")
out = f"{work()}/out"

lists = o.select("order_id", "amount", "status", F.array_repeat("day", 2).alias("tags"))
lists = lists.withColumn("pairs", F.array(F.struct("status", "amount")))
lists.write.parquet(f"{out}/lists")
read = spark.read.parquet(f"{out}/lists")
for name, generator in {
    "explode": F.explode("tags"),
    "posexplode": F.posexplode("tags"),
    "inline": F.inline("pairs"),
    "explode_outer": F.explode_outer("tags"),
    "literal": F.explode(F.array("order_id", "amount")),
    "stack": F.stack(F.lit(2), F.col("order_id"), F.col("order_id") * 2),
}.items():
    read.where("status <> 'x'").select("order_id", generator).select("order_id").write.parquet(f"{out}/{name}")
o.dropDuplicates(["customer_id"]).write.parquet(f"{out}/unique")

o.select("order_id", F.struct("amount", F.struct("day").alias("at")).alias("s")).write.parquet(f"{out}/struct")
moved = spark.read.parquet(f"{out}/struct")
moved.write.parquet(f"{out}/moved")
moved.select("s.amount", "s.at.day").write.parquet(f"{out}/members")

spark.sql("create table other (amount double, hour int, day string) using parquet partitioned by (day, hour)")
spark.sql("create table parts (amount double, hour int, day string) using parquet partitioned by (day, hour)")
spark.sql("insert overwrite parts partition (day = '2026-01-01', hour = 1) select amount from o")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
some = o.where("day <> '2026-01-03'").selectExpr("amount", "day", "1 as hour")
some.write.mode("overwrite").insertInto("other")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
some.write.mode("overwrite").insertInto("parts")

jdbc = {"url": f"jdbc:derby:{work()}/db;create=true", "driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
o.select("order_id", "amount", "status").write.format("jdbc").options(**jdbc, dbtable="orders_j").save()
properties = {"driver": jdbc["driver"]}
chosen = ['"amount" < 11', '"order_id" > 4 and "amount" > 15']
spark.read.jdbc(jdbc["url"], "orders_j", predicates=chosen, properties=properties).select("order_id").write.parquet(
    f"{out}/predicates"
)
spark.read.jdbc(jdbc["url"], "orders_j", "order_id", 1, 6, 2, properties=properties).select("order_id").write.parquet(
    f"{out}/partitioned"
)

arriving = spark.readStream.schema(o.schema).parquet(f"{work()}/in")


def each(batch: Any, number: int) -> None:
    batch.write.mode("append").parquet(f"{out}/batches")
    batch.where("amount > 20").write.mode("append").json(f"{out}/large")


def run(writer: Any, name: str) -> Any:
    return writer.option("checkpointLocation", f"{work()}/checkpoints/{name}").trigger(availableNow=True)


run(arriving.writeStream.foreachBatch(each), "each").start().awaitTermination()
run(arriving.writeStream.format("json").option("path", f"{out}/streamed"), "files").start().awaitTermination()
run(arriving.writeStream.foreach(lambda row: None), "foreach").start().awaitTermination()
spark.sql(f"insert overwrite directory '{out}/folder' using parquet select order_id from o")
spark.sql("create view v as select amount from parts")
spark.table("parts").groupBy("amount").count().write.parquet(f"{out}/no_text")
spark.stop()
