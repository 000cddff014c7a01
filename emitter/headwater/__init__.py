"""Lineage from inside a job: ``from headwater import lineage``, Spark, fields, operators, and the transport for events.

Importing this package imports none of them: a job loads only the parts that it uses.
"""
