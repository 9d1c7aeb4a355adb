"""Ordered pipelines: program, reference interpretation, laws."""
