"""Step 2 of the demo: join the orders with the customers, hide the e-mail addresses, write a table."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

folder = sys.argv[1]
spark = SparkSession.builder.appName("enrich_orders").getOrCreate()

orders = spark.read.parquet(f"{folder}/tables/orders")
customers = spark.read.option("header", True).csv(f"{folder}/landing/customers.csv")
enriched = orders.join(customers, orders.customer_id == customers.id).select(
    "order_id", "day", "amount", "country", F.sha2("email", 256).alias("email_hash")
)
enriched.write.mode("overwrite").option("path", f"{folder}/tables/enriched_orders").saveAsTable("enriched_orders")
spark.stop()
