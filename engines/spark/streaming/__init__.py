"""Runs DGS programs on Structured Streaming: one stateful operator over packed runs of events."""
