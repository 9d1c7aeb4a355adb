"""Users' interactions with advertisements: the input of the Yahoo streaming benchmark's queries.

One input for all six: a dataset that was generated or imported serves each of them.
"""
