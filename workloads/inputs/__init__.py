"""Inputs that several workloads share: their schema, their generators."""
