"""Defines the input of all models: streams, records, tags, the total order."""
