"""Runs any program that reads a CSV file and writes one."""
