"""Defines ordered pipelines: program, reference interpretation, laws."""
