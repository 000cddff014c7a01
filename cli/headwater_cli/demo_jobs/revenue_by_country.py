"""Step 3 of the demo: sum the orders by country and day, write a table."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

folder = sys.argv[1]
spark = SparkSession.builder.appName("revenue_by_country").getOrCreate()

revenue = (
    spark.read.parquet(f"{folder}/tables/enriched_orders")
    .groupBy("country", "day")
    .agg(F.sum("amount").alias("revenue"), F.countDistinct("email_hash").alias("buyers"))
)
revenue.write.mode("overwrite").option("path", f"{folder}/tables/revenue_by_country").saveAsTable("revenue_by_country")
spark.stop()
