"""Defines queries of the generalized stateful operator O+: program, reference interpreter, laws."""
