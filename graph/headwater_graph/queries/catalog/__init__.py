"""Queries about jobs and datasets: find, list, search, describe and count them."""
