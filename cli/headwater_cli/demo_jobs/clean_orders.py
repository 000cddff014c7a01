"""Step 1 of the demo: read the orders as they came, keep the paid ones, write a table."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

folder = sys.argv[1]
spark = SparkSession.builder.appName("clean_orders").getOrCreate()

orders = spark.read.option("header", True).csv(f"{folder}/landing/orders.csv")
paid = orders.where(F.col("status") == "paid").select(
    F.col("order_id").cast("long").alias("order_id"),
    F.col("customer_id").cast("long").alias("customer_id"),
    F.col("amount").cast("double").alias("amount"),
    F.to_date("ordered_at").alias("day"),
)
paid.write.mode("overwrite").option("path", f"{folder}/tables/orders").saveAsTable("orders")
spark.stop()
