"""Reads text files for all imports: encodings, line ends, records of CSV, JSON lines and logs, and words."""
