"""Structs changed in place, collections gone into, JSON, and generators over them."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import orders, work

spark = SparkSession.builder.appName("nested").getOrCreate()
o = spark.read.parquet(orders())
out = f"{work()}/out"

s = F.struct("amount", "status", F.struct("day").alias("when"))
m = F.create_map("status", "amount")
o.select("order_id", s.alias("s"), m.alias("m"), F.array(s).alias("l")).write.parquet(f"{out}/base")
b = spark.read.parquet(f"{out}/base")
b.createOrReplaceTempView("b")
b.select(F.col("s").withField("amount", F.col("s.amount") * 2).alias("s")).write.parquet(f"{out}/with_field")
b.select(F.col("s").dropFields("status").alias("s")).write.parquet(f"{out}/drop_field")
b.select(F.col("s").withField("when.year", F.substring("s.when.day", 1, 4)).alias("s")).write.parquet(f"{out}/deep")
b.select("s.*", F.col("l.status").alias("each"), F.col("l")[0]["when"]["day"].alias("first")).write.parquet(
    f"{out}/star"
)
b.select(
    F.map_keys("m").alias("keys"),
    F.element_at("l", 1).alias("element"),
    F.transform("l", lambda x: x.status).alias("statuses"),
    F.filter("l", lambda x: x.amount > 1).alias("kept"),
    F.aggregate("l", F.lit(0.0), lambda total, x: total + x.amount).alias("total"),
    F.transform_values("m", lambda k, v: v * 2).alias("doubled"),
    F.map_from_entries(F.transform("l", lambda x: F.struct(x.status, x.amount))).alias("again"),
).write.parquet(f"{out}/functions")
b.select("order_id", F.explode_outer("m").alias("k", "v")).write.parquet(f"{out}/map")
b.select("order_id", F.posexplode("l").alias("place", "x")).write.parquet(f"{out}/places")
b.select("order_id", F.inline("l")).write.parquet(f"{out}/inline")
spark.sql("select order_id, stack(2, 'a', s.amount, 'b', s.amount * 2) as (k, v) from b").write.parquet(f"{out}/stack")
spark.sql("""
    select order_id, e.status, count(*) n from b lateral view explode(l) as e
    group by order_id, e.status having e.status > 'a'
""").write.parquet(f"{out}/view")
b.select("order_id", F.to_json("s").alias("j")).write.parquet(f"{out}/to_json")
j = spark.read.parquet(f"{out}/to_json")
j.select(F.from_json("j", "amount double, status string").alias("p")).select("p.amount").write.parquet(
    f"{out}/from_json"
)
j.select(F.get_json_object("j", "$.amount").alias("g"), F.json_tuple("j", "status")).write.parquet(f"{out}/parts")
spark.stop()
