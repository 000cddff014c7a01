"""The whole graph at once: dump it, export it as events, derive it again from its records, check and rebuild it."""
