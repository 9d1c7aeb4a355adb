"""Structured Streaming: one stateful operator over packed runs of events."""
