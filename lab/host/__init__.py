"""Gives the lab access to the machine: its files, programs, processor and git."""
