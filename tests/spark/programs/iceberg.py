"""Iceberg: dynamic overwrites of partitions, and the conditions of MERGE's clauses."""

# jars: @iceberg
# conf: spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
# conf: spark.sql.catalog.ice=org.apache.iceberg.spark.SparkCatalog
# conf: spark.sql.catalog.ice.type=hadoop
# conf: spark.sql.catalog.ice.warehouse=$WORK/ice
from pyspark.sql import SparkSession
from tests.spark.samples import orders

spark = SparkSession.builder.appName("iceberg").getOrCreate()
o = spark.read.parquet(orders()).select("order_id", "amount", "status", "customer_id", "day")
o.createOrReplaceTempView("o")
columns = "order_id bigint, amount double, status string, day string"
for name in ("parts", "copied", "merged"):
    spark.sql(f"create table ice.db.{name} ({columns}) using iceberg partitioned by (day)")
    spark.sql(f"insert into ice.db.{name} select order_id, amount, status, day from o")
some = o.where("day <> '2026-01-03'").select("order_id", "amount", "status", "day")
some.writeTo("ice.db.parts").overwritePartitions()
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
spark.sql("insert overwrite ice.db.copied select order_id, amount, status, day from o where day > '2026-01-01'")
spark.sql("""
    merge into ice.db.merged t using o on t.order_id = o.order_id
    when matched and o.status = 'void' then delete
    when matched and o.customer_id = 1 then update set amount = 0.0
    when not matched then insert (order_id, amount, status, day) values (o.order_id, o.amount, o.status, o.day)
""")
spark.stop()
