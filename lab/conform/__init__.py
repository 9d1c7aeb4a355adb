"""Runs the conformance suite on an engine, in separate processes that the engine may crash."""
