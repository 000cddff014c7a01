"""Patterns, several paths in one read, partition filters, SQL on files, whole files, and writes in every mode."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import orders, text, work

spark = SparkSession.builder.appName("files").getOrCreate()
o = spark.read.parquet(orders())
out = f"{work()}/out"

o.write.partitionBy("status", "day").parquet(f"{out}/parted")
parted = spark.read.parquet(f"{out}/parted")
parted.where("status = 'paid'").select("order_id", "day").write.parquet(f"{out}/filtered")
below = spark.read.option("basePath", f"{out}/parted")
below.parquet(f"{out}/parted/status=paid", f"{out}/parted/status=open").write.parquet(f"{out}/two_folders")
below.parquet(f"{out}/parted/status=*").select("order_id").write.parquet(f"{out}/pattern")
spark.read.option("recursiveFileLookup", True).parquet(f"{out}/parted").write.parquet(f"{out}/recursive")
o.limit(2).write.json(f"{out}/x1")
o.limit(2).write.json(f"{out}/x2")
spark.read.json([f"{out}/x1", f"{out}/x2"]).write.parquet(f"{out}/list")
spark.read.json(f"{out}/x[12]").write.parquet(f"{out}/brackets")
spark.sql(f"select order_id from parquet.`{out}/filtered`").write.parquet(f"{out}/sql_on_files")
one, two = text("a.txt", "x\ny\n"), text("b.txt", "z\n")
spark.read.format("binaryFile").load(f"{work()}/in/a*.txt").select("path", "length").write.parquet(f"{out}/binary")
spark.read.text([one, two]).write.text(f"{out}/lines")
spark.read.option("wholetext", True).text(one).select(F.input_file_name().alias("f")).write.parquet(f"{out}/whole")
o.write.mode("ignore").parquet(f"{out}/filtered")
o.write.mode("overwrite").orc(f"{out}/orc")
spark.read.load(f"{out}/orc", format="orc").write.save(f"{out}/saved")
arriving = spark.readStream.schema(o.schema).parquet(f"{work()}/in/orders*")
query = arriving.select("order_id").writeStream.option("checkpointLocation", f"{work()}/checkpoints/files")
query.trigger(availableNow=True).format("parquet").start(f"{out}/streamed").awaitTermination()
spark.stop()
