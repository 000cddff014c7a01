"""Tables of the session catalog, from CREATE to DROP; several INSERTs of one FROM; views."""

from pyspark.sql import SparkSession
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("tables").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
c.createOrReplaceTempView("c")
out = f"{work()}/out"

spark.sql("create table t (a bigint, b string) using parquet")
spark.sql("create table u (a bigint, b string) using parquet")
spark.sql("insert into t select order_id, status from o")
spark.sql("from o insert into t select customer_id, day insert into u select order_id, day")
spark.sql("insert overwrite t (b, a) select status, order_id from o")
spark.sql("create table Parted using parquet partitioned by (day) as select amount, day from o")
spark.sql("alter table parted drop partition (day = '2026-01-03')")
spark.sql("create view v as select a from t")
spark.table("v").write.saveAsTable("from_view")
spark.sql("alter table u add columns (z int)")
spark.sql("create table liked like t")
spark.sql("alter table liked rename to renamed")
spark.sql("truncate table t")
spark.sql("drop table from_view")
spark.sql(f"insert overwrite directory '{out}/folder' using parquet select order_id from o")
spark.sql(f"create table placed using parquet location '{work()}/a b%20c' as select * from c")
spark.table("placed").write.parquet(f"{out}/My.Out")
spark.stop()
