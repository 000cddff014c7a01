"""Columns with dots, spaces and letters of every script, cases, aliases, columns that are called alike, empty frames."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("_Spelling_").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
out = f"{work()}/out"

odd = o.select(F.col("order_id").alias("a.b"), F.col("status").alias("ünïcode"), F.col("day").alias("with space"))
odd.write.parquet(f"{out}/odd")
odd = spark.read.parquet(f"{out}/odd")
odd.select("`a.b`", "ÜNÏCODE", F.col("with space").alias("ws")).write.parquet(f"{out}/chosen")
odd.select(F.struct("`a.b`", "ünïcode").alias("s")).select("s.`a.b`").write.parquet(f"{out}/member")
both = o.join(c, o.customer_id == c.customer_id)
both.select(o.customer_id.alias("l"), c.customer_id.alias("r"), "name").write.parquet(f"{out}/twice")
x, y = o.alias("x"), o.alias("y")
x.join(y, F.col("x.order_id") == F.col("y.customer_id"), "left").select(
    "x.order_id", "y.status", F.col("x.status").alias("xs")
).write.parquet(f"{out}/aliases")
o.withColumnsRenamed({"order_id": "oid"}).withColumns({"oid2": F.col("oid") + 1}).drop("day").write.parquet(
    f"{out}/renamed"
)
o.transform(lambda f: f.withColumn("x", F.col("amount") * 2)).select("x", "day").write.parquet(f"{out}/transformed")
spark.sql("SELECT O.Order_Id, sum(O.AMOUNT) AS Total FROM O GROUP BY O.ORDER_ID").write.parquet(f"{out}/case")
o.select(o.colRegex("`.*_id`"), F.lit(1).alias("one")).write.parquet(f"{out}/pattern")
o.limit(0).write.parquet(f"{out}/none")
spark.createDataFrame([], "a int, b string").write.parquet(f"{out}/empty")
made = spark.createDataFrame([(1, "x")], "a int, b string")
made.join(o, F.col("a") == F.col("order_id")).select("b", "status").write.parquet(f"{out}/local")
o.write.parquet(f"{out}/ünï cödé")
spark.read.parquet(f"{out}/ünï cödé").select("status").write.parquet(f"{out}/read")
o.groupBy("status").agg({"amount": "sum", "*": "count"}).write.parquet(f"{out}/dict")
o.unpivot(["order_id"], ["status", "day"], "k", "v").write.parquet(f"{out}/melted")
o.groupBy("customer_id").agg(F.collect_list(F.struct("order_id", "amount")).alias("items")).select(
    "customer_id", F.explode("items").alias("i")
).select("customer_id", "i.order_id", (F.col("i.amount") * 2).alias("a2")).write.parquet(f"{out}/regrouped")
o.join(c, "customer_id", "full_outer").select("customer_id", "name").write.parquet(f"{out}/full")
o.join(c, ["customer_id"], "leftanti").write.parquet(f"{out}/anti")
spark.stop()
