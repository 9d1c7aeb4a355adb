"""Reads, records and interprets the machine's energy counters."""
