"""The configuration of the official Spark integration, ``spark.openlineage.*``, as headwater obeys it.  Pure."""
