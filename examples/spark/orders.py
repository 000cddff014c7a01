"""A small PySpark job: run it with ``headwater instrument examples/spark/orders.py FOLDER``."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

folder = Path(sys.argv[1])
spark = SparkSession.builder.master("local[2]").appName("orders").getOrCreate()

(folder / "orders.csv").write_text("order_id,customer_id,amount\n1,1,10.0\n2,1,20.0\n3,2,30.0\n")
(folder / "customers.csv").write_text("customer_id,name\n1,ann\n2,bob\n")

orders = spark.read.option("header", True).option("inferSchema", True).csv(f"{folder}/orders.csv")
customers = spark.read.option("header", True).option("inferSchema", True).csv(f"{folder}/customers.csv")
spending = orders.join(customers, "customer_id").groupBy("name").agg(F.sum("amount").alias("spent"))
spending.write.mode("overwrite").parquet(f"{folder}/spending")
spark.stop()
