"""Lineage of PySpark jobs: `instrument(spark)` tells what they read and write, down to columns, without a jar."""

from headwater.spark.session import Instrumentation, instrument

__all__ = ["Instrumentation", "instrument"]
