"""Seeded schedules of faults over a recorded workload: `make chaos SEEDS=10`, or one again: `make chaos SEED=7`."""
