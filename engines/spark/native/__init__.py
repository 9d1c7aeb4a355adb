"""Runs any program on Spark by the multicore engine's compiled code, in tasks that exchange packed columns."""
