"""Runs workloads on engines: adapters behind one protocol, found through entry points."""
