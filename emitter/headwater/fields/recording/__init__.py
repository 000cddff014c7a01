"""What programs and pipeline stages record, wired into reads, transforms and writes."""
