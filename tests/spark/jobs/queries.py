"""Joins, sets, sub-queries, CTEs, pivots, generators."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("queries").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
c.createOrReplaceTempView("c")
out = f"{work()}/out"

o.join(c, "customer_id", "left").select("order_id", "name").write.parquet(f"{out}/left")
o.join(c, "customer_id", "left_semi").write.parquet(f"{out}/semi")
o.alias("a").join(o.alias("b"), F.col("a.amount") < F.col("b.amount")).select(
    F.col("a.order_id"), F.col("b.order_id").alias("above")
).write.parquet(f"{out}/self")
o.select("customer_id").union(c.select("customer_id")).distinct().write.parquet(f"{out}/union")
spark.sql("select customer_id from o except select customer_id from c").write.parquet(f"{out}/except")
spark.sql("""
    select order_id, (select max(name) from c where c.customer_id = o.customer_id) named from o
    where customer_id in (select customer_id from c where country = 'pl') and amount > (select avg(amount) from o)
""").write.parquet(f"{out}/subqueries")
spark.sql("""
    with spent as (select customer_id, sum(amount) s from o group by customer_id),
      known as (select spent.*, c.name from spent join c using (customer_id))
    select name, s from known union all select 'nobody', s from spent
""").write.parquet(f"{out}/ctes")
o.groupBy("customer_id").pivot("status", ["paid", "open"]).sum("amount").write.parquet(f"{out}/pivot")
c.select("customer_id", F.explode(F.split("email", "@")).alias("part")).write.parquet(f"{out}/exploded")
spark.sql("select status, day, sum(amount) s from o group by cube (status, day)").write.parquet(f"{out}/cube")
o.dropDuplicates(["customer_id"]).write.parquet(f"{out}/deduplicated")
o.repartition(2, "status").sortWithinPartitions("day").coalesce(1).write.parquet(f"{out}/sorted")
spark.stop()
