"""Declares workloads in a few lines (`forms`), and describes what they compute (`declaration`)."""
