"""Queries of the generalized stateful operator O+: program, reference interpretation, laws."""
