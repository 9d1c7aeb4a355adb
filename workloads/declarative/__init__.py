"""Declares workloads in a few lines (`window_forms`, `row_forms`), and describes their computation (`declaration`)."""
