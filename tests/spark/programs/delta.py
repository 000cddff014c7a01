"""Delta: RESTORE and CLONE, partial overwrites, and the conditions of MERGE's clauses."""

# jars: delta
# conf: spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension
# conf: spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog
# conf: spark.databricks.delta.snapshotPartitions=1
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import orders, work

spark = SparkSession.builder.appName("delta").getOrCreate()
o = spark.read.parquet(orders())
o.createOrReplaceTempView("o")
out = f"{work()}/out"

o.select("order_id", "amount", "day").write.format("delta").partitionBy("day").saveAsTable("t1")
spark.sql("insert into t1 select order_id + 100, amount, day from o")
spark.sql("restore table t1 to version as of 0")
spark.sql("create table t3 shallow clone t1")
spark.conf.set("spark.sql.shuffle.partitions", "2")
some = o.where("day = '2026-01-01'").select("order_id", "amount", "day")
where = "day = '2026-01-01' and order_id >= 1"
some.write.format("delta").mode("overwrite").option("replaceWhere", where).save(f"{work()}/wh/t1")
some.writeTo("t1").overwrite(F.col("day") == "2026-01-01")
spark.sql("""
    merge into t3 using o on t3.order_id = o.order_id
    when matched and o.status = 'void' then delete
    when matched and o.customer_id = 1 then update set amount = 0.0
    when not matched then insert (order_id, amount, day) values (o.order_id, o.amount, o.day)
""")

path = f"{out}/parts"
o.select("order_id", "amount", "day").write.format("delta").partitionBy("day").save(path)
some.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
some.where("day = '2026-01-01'").writeTo("t1").overwritePartitions()
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
spark.sql("insert overwrite t1 select order_id, amount, day from o where day > '2026-01-01'")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
some.write.format("delta").mode("overwrite").save(path)
for _ in range(2):
    spark.range(2).writeTo("replaced").using("delta").createOrReplace()
spark.stop()
