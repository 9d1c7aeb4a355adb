"""Judges trials: compares answers and accounts in processes in which no engine ever ran."""
