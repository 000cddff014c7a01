"""What an operator returns about its lineage, and how that is read."""
