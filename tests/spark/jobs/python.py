"""Python functions of every kind, and RDDs."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("python").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
c.createOrReplaceTempView("c")
out = f"{work()}/out"

joined = F.udf(lambda a, b: str(a) + b, "string")
o.limit(6).select(joined("amount", "status").alias("j")).write.parquet(f"{out}/udf")
o.select("order_id", "day").mapInPandas(lambda frames: frames, "order_id long, day string").write.parquet(
    f"{out}/mapped"
)
o.groupBy("status").applyInPandas(lambda frame: frame[["amount"]], "amount double").write.parquet(f"{out}/applied")
o.select("amount").rdd.map(lambda row: (row.amount,)).toDF(["x"]).write.parquet(f"{out}/through_rdd")
lines = spark.sparkContext.textFile(f"{work()}/in/orders.parquet")
lines.map(len).map(str).saveAsTextFile(f"{out}/lengths")
spark.sparkContext.textFile(f"{out}/lengths").union(lines).saveAsTextFile(f"{out}/both")
spark.stop()
