"""Lineage from inside a job: ``from headwater import lineage``, Spark, fields, operators, and the transport under them.

Nothing is imported here: a job pays for the parts that it uses.
"""
