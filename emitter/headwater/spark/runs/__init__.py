"""Runs of one Spark application, and the events about them."""
