"""Reads text files for all imports: encodings, line ends, CSV records and words."""
