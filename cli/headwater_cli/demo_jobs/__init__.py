"""The demo's jobs: three PySpark steps that know nothing of lineage, and one program that uses openlineage-python alone."""
