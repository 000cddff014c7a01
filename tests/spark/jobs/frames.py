"""Frames used more than once: persisted, cached by name, checkpointed; failures in between; parameters and inline tables."""

import contextlib

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("frames").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
out = f"{work()}/out"

joined = o.join(c, "customer_id").persist()
joined.groupBy("country").agg(F.sum("amount").alias("s")).write.parquet(f"{out}/by_country")
joined.where("amount > 5").select("name").write.parquet(f"{out}/names")
o.groupBy("customer_id").agg(F.sum("amount").alias("s")).createOrReplaceTempView("spent")
spark.catalog.cacheTable("spent")
spark.sql("select s from spent where s > 3").write.parquet(f"{out}/spent")
spark.sparkContext.setCheckpointDir(f"{work()}/cut")
cut = o.where("amount > 3").checkpoint()
cut.join(c, "customer_id").select("name", "status").write.parquet(f"{out}/cut")
grown = o
for number in range(3):
    grown = grown.withColumn("amount", F.col("amount") + number)
grown.write.parquet(f"{out}/grown")
for broken in ("select nope from o", "select order_id from nowhere"):
    with contextlib.suppress(AnalysisException):
        spark.sql(broken).write.parquet(f"{out}/never")
with contextlib.suppress(AnalysisException):
    o.write.parquet(f"{out}/grown")
spark.sql("select :x + order_id as k from o", {"x": 1}).write.parquet(f"{out}/parameter")
spark.sql("values (1, 'a'), (2, 'b')").toDF("k", "v").write.parquet(f"{out}/values")
spark.range(5).join(o, F.col("id") == F.col("order_id")).select("id", "status").write.parquet(f"{out}/with_range")
o.toDF("a", "b", "c", "d", "e").select((F.col("a") + F.col("b")).alias("ab")).write.parquet(f"{out}/renamed")
spark.sql("select order_id from o").observe("seen", F.count(F.lit(1)).alias("n")).write.parquet(f"{out}/observed")
spark.stop()
