"""What operators see of a running consumer: log, health, metrics, and what a batch waits for."""
