"""Facets that threads register while others write, and facets made by the context's builders."""

import os
import threading

from pyspark.sql import DataFrame, SparkSession
from tests.spark.samples import work

from headwater.spark import FacetRegistry

os.environ["HEADWATER_SPARK_NODES"] = (
    "org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand=tests.spark.attached:Write"
)
spark = SparkSession.builder.appName("registered").getOrCreate()
del os.environ["HEADWATER_SPARK_NODES"]
out = f"{work()}/out"
begun = threading.Barrier(3)


def write(place: str) -> None:
    for number in range(6):
        begun.wait()
        if place != "plain":
            FacetRegistry.register_run_facet(f"note_{place}", {"number": number})
        spark.range(1).write.parquet(f"{out}/{place}-{number}")


threads = [threading.Thread(target=write, args=(place,)) for place in ("left", "right", "plain")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()


def batch(frame: DataFrame, number: int) -> None:
    FacetRegistry.register_run_facet("note_batch", {"number": 2})
    frame.write.mode("append").parquet(f"{out}/stream")


spark.range(3).write.parquet(f"{work()}/in")
FacetRegistry.register_run_facet("note_stream", {"number": 1})
stream = spark.readStream.schema("id long").parquet(f"{work()}/in").writeStream.foreachBatch(batch)
stream.option("checkpointLocation", f"{work()}/checkpoint").trigger(availableNow=True).start().awaitTermination()

FacetRegistry.register_run_facet("note_text", {"number": 3})
FacetRegistry.register_job_facet("note_job", {"number": 4})
spark.sparkContext.parallelize([1]).saveAsTextFile(f"{out}/text")
FacetRegistry.register_run_facet("note_last", {"number": 5})
spark.stop()
