"""Bronze, silver, gold: what came last of each key, caches and several actions, partitions overwritten, salted joins."""

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, text, work

spark = SparkSession.builder.appName("medallion").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
out = f"{work()}/out"

raw = text("raw.csv", "id,cust,amt,ts\n1,1,10.5,2026-01-01\n1,1,11.5,2026-01-02\n2,2,3,2026-01-01\n")
arrived = spark.read.option("header", True).schema("id int, cust int, amt double, ts string").csv(raw)
arrived.withColumn("_file", F.input_file_name()).write.partitionBy("ts").parquet(f"{out}/bronze")
bronze = spark.read.parquet(f"{out}/bronze")
last = F.row_number().over(Window.partitionBy("id").orderBy(F.col("ts").desc()))
silver = bronze.withColumn("rn", last).where("rn = 1").drop("rn").withColumn("amt", F.round("amt", 2)).cache()
assert silver.count() == 2
silver.write.parquet(f"{out}/silver")
named = silver.where("amt > 5").join(F.broadcast(c), silver.cust == c.customer_id, "left")
named.select("id", "name", "amt").write.mode("overwrite").saveAsTable("silver_named")
gold = spark.table("silver_named").groupBy("name")
sums = gold.agg(
    F.sum("amt").alias("total"), F.countDistinct("id").alias("n"), F.max(F.struct("amt", "id")).alias("top")
)
sums.write.mode("overwrite").saveAsTable("gold")
sums.select("name", "top.amt", F.col("top.id").alias("best")).write.parquet(f"{out}/top")
ranked = sums.withColumn("rank", F.dense_rank().over(Window.orderBy(F.desc("total"))))
ranked.where("rank < 3").select("name", "rank").write.parquet(f"{out}/ranked")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
again = bronze.where("ts = '2026-01-02'").drop("_file")
again.write.mode("overwrite").partitionBy("ts").parquet(f"{out}/again")
salted = o.withColumn("salt", (F.col("order_id") % 4).cast("int"))
salts = c.withColumn("salt", F.explode(F.array([F.lit(number) for number in range(4)])))
spread = salted.join(salts, ["customer_id", "salt"]).drop("salt")
spread.groupBy("country").agg(F.sum("amount").alias("s")).write.parquet(f"{out}/salted")
reached = bronze.agg(F.max("ts")).collect()[0][0]
bronze.where(F.col("ts") >= F.lit(reached)).select("id", "amt").write.parquet(f"{out}/daily/2026-01-31")
spark.read.parquet(f"{out}/daily/2026-01-31").write.parquet(f"{out}/weekly/2026/01")
spark.stop()
