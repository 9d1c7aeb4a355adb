"""Runs any program on Spark: the program's functions, in Spark's grouped and stateful operators."""
