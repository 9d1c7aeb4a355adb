"""Runs the conformance suite on an engine, in processes that the engine may bring down."""
