"""Chains of many projections, thousands of columns, and a plan above the limits."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import orders, work

from headwater.spark.jvm.driver import PlanLimits
from headwater.spark.session import active

spark = SparkSession.builder.appName("wide").getOrCreate()
o = spark.read.parquet(orders())
out = f"{work()}/out"

chained = o
for number in range(200):
    chained = chained.withColumn(f"c{number}", F.col("amount") * number)
chained.write.parquet(f"{out}/chained")

dependent = o.select("order_id", F.col("amount").alias("c0"), "status")
for number in range(1, 20):
    dependent = dependent.withColumn(f"c{number}", F.col(f"c{number - 1}") + 1).where("order_id > 0")
dependent.select("order_id", "c19").mapInPandas(lambda frames: frames, "order_id long, c19 double").write.parquet(
    f"{out}/opaque"
)

columns = o.select("order_id", *(F.col("amount").alias(f"c{number}") for number in range(2000)))
columns.write.parquet(f"{out}/columns")
both = spark.read.parquet(f"{out}/columns")
for number in range(20):
    both = both.withColumn(f"d{number}", F.col(f"c{number}") + 1)
both.write.parquet(f"{out}/both")

shared = o.select("order_id", "status", (F.col("amount") + 1).alias("more")).where("more > 2").drop("status")
shared.union(shared).write.parquet(f"{out}/shared")

(application,) = [found for found in active() if not found.closed]
application.listener.driver.limits = PlanLimits(values=2_000)
many = o.select("order_id", *((F.col("amount") + number).alias(f"c{number}") for number in range(400)))
many.groupBy("order_id").agg(*(F.sum(f"c{number}").alias(f"s{number}") for number in range(400))).write.parquet(
    f"{out}/limited"
)
spark.stop()
