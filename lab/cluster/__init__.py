"""Starts, inspects and stops clusters of an engine's processes on this machine."""
