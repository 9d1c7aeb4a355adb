"""Engines that run workloads: adapters behind one protocol, found through entry points."""
