"""Iceberg: dynamic overwrites of partitioned tables, and tables that are replaced, created before or not."""

# jars: @iceberg
# conf: spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
# conf: spark.sql.catalog.ice=org.apache.iceberg.spark.SparkCatalog
# conf: spark.sql.catalog.ice.type=hadoop
# conf: spark.sql.catalog.ice.warehouse=$WORK/ice
# only: 4.1
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import orders

spark = SparkSession.builder.appName("iceberg").getOrCreate()
o = spark.read.parquet(orders()).select("order_id", "status", F.to_date("day").alias("day"))
o.createOrReplaceTempView("o")

o.writeTo("ice.db.parts").partitionedBy("status", F.days("day")).create()
some = o.where("order_id in (1, 4)")
some.writeTo("ice.db.parts").overwritePartitions()
spark.sql("create table ice.db.named (order_id bigint, status string) using iceberg partitioned by (status)")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
spark.sql("insert overwrite ice.db.named select order_id, concat(status, ' /%=é') from o where status <> 'open'")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
some.writeTo("ice.db.parts").overwrite(F.col("status") == "void")
some.writeTo("ice.db.parts").append()
for _ in range(2):
    spark.range(2).writeTo("ice.db.replaced").using("iceberg").createOrReplace()
spark.stop()
