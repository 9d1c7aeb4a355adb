"""Writes packages for engines and workloads of one's own, complete and tested, from templates."""
