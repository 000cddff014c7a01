"""Files of every format, names that are no URIs, partitions, writes that keep nothing, checkpoints and caches."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("writes").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
c.createOrReplaceTempView("c")
out = f"{work()}/out"

o.write.orc(f"{out}/orc")
spark.read.orc(f"{out}/orc").write.json(f"{out}/json")
spark.read.json(f"{out}/json").select("order_id", "status").write.csv(f"{out}/csv", header=True)
o.select("status").write.text(f"{out}/text")
o.write.partitionBy("day").parquet(f"{out}/parted")
spark.read.parquet(f"{out}/parted/day=2026-01-01").write.parquet(f"{out}/x%20y")
spark.read.parquet(f"{out}/x%20y").write.parquet(f"{out}/a b")
c.write.format("noop").mode("overwrite").save()
o.where("amount > 3").localCheckpoint().groupBy("status").agg(F.sum("amount").alias("s")).write.parquet(f"{out}/cut")
cached = c.cache()
cached.count()
cached.select("name").write.parquet(f"{out}/kept")
spark.range(3).write.parquet(f"{out}/made")
spark.stop()
