"""Input of the Yahoo streaming benchmark's queries: users' interactions with advertisements.

All six workloads read the same datasets.
"""
