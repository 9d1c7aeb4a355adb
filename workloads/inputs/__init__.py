"""Inputs that several workloads share: schemas, generators and common declarations."""
