"""Hive: overwrites of partitions in tables of Hive's own formats."""

# conf: spark.sql.catalogImplementation=hive
# conf: spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:metastore;create=true
# conf: spark.hadoop.hive.exec.dynamic.partition.mode=nonstrict
from pyspark.sql import SparkSession
from tests.spark.samples import orders

spark = SparkSession.builder.appName("hive").getOrCreate()
o = spark.read.parquet(orders())
o.createOrReplaceTempView("o")
for name, stored in (("lines", "textfile"), ("columns", "parquet")):
    spark.sql(f"create table {name} (amount double) partitioned by (day string, hour int) stored as {stored}")
    spark.sql(f"insert into {name} partition (day, hour) select amount, day, 1 from o")
    spark.sql(f"insert overwrite {name} partition (day, hour) select amount, day, 1 from o where day <> '2026-01-03'")
    spark.sql(f"insert overwrite {name} partition (day = '2026-01-02', hour) select amount, 1 from o where amount > 9")
    spark.sql(f"insert overwrite {name} partition (day = '2026-01-02', hour = 3) select amount from o")
spark.stop()
