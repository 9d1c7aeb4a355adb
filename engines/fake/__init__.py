"""Provides an engine that returns the oracle's answer or fails on demand, to test the lab."""
