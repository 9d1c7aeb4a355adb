"""Isolates trials from the lab and from each other, in processes or containers."""
