"""Runs pipelines whose outputs leave in the order of sequential execution."""
