"""Statements and their texts, tables by their names, and files by theirs."""

from pathlib import Path

from pyspark.sql import SparkSession
from tests.spark.samples import orders, work

spark = SparkSession.builder.appName("identity").getOrCreate()
o = spark.read.parquet(orders())
o.createOrReplaceTempView("o")
out = f"{work()}/out"

o.write.saveAsTable("t")
spark.sql("create view v as select order_id, amount from t")
spark.table("v").write.parquet(f"{out}/through_view")
stated = spark.sql("select amount from t where amount > 1")
stated.createOrReplaceTempView("tv")
spark.table("tv").write.parquet(f"{out}/temp_view")
stated.repartition(1).write.parquet(f"{out}/text")
stated.where("amount > 2").write.parquet(f"{out}/more")
stated.join(spark.sql("select amount from o"), "amount").write.parquet(f"{out}/joined")
spark.sql("select amount + 1 as a from tv").write.parquet(f"{out}/outer")
spark.sql("with c as (select amount from t) select * from c").write.parquet(f"{out}/cte")

for _ in range(2):
    o.write.mode("overwrite").saveAsTable("again")
spark.sql("drop table again")
o.write.mode("overwrite").saveAsTable("again")
o.write.mode("append").saveAsTable("again")

o.write.option("path", f"{work()}/ext/saved").saveAsTable("saved")
spark.table("saved").write.parquet(f"{out}/from_saved")
spark.sql(f"create table external (amount double) using parquet location '{work()}/ext/external'")
spark.sql("insert into external select amount from o")
spark.table("external").write.parquet(f"{out}/from_external")

url, driver = f"jdbc:derby:{work()}/db;create=true", "org.apache.derby.iapi.jdbc.AutoloadedDriver"
o.select("order_id", "amount").write.format("jdbc").options(url=url, driver=driver, dbtable="orders_j").save()
options = f"url '{url}', dbtable 'orders_j', driver '{driver}', password 'hunter2'"
spark.sql(f"create table represented using jdbc options ({options})")
spark.table("represented").write.parquet(f"{out}/from_database")

arriving = spark.readStream.schema(o.schema).parquet(f"{work()}/in")
for name, places in {"streamed": {}, "streamed_out": {"path": f"{work()}/ext/streamed_out"}}.items():
    writer = arriving.writeStream.options(**places, checkpointLocation=f"{work()}/checkpoints/{name}")
    writer.trigger(availableNow=True).toTable(name).awaitTermination()

for folder, names in {"files": "ab", "many": "abcdefghijklmnopqrstuvw"}.items():
    (Path(work()) / folder).mkdir()
    for name in names:
        (Path(work()) / folder / f"{name}.txt").write_text("x\n")
spark.read.text(f"{work()}/files/a.txt").write.text(f"{out}/one")
spark.read.text([f"{work()}/files/a.txt", f"{work()}/files/b.txt"]).write.text(f"{out}/two")
spark.read.text(f"{work()}/many/*.txt").write.text(f"{out}/many")
spark.read.text([f"{work()}/files", f"{work()}/many"]).write.text(f"{out}/folders")
spark.stop()
