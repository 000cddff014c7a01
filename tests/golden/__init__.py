"""The specification by example: titled cases, events in and the canonical dump out, and messages that are refused."""
