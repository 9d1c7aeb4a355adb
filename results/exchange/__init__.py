"""Writes runs in the formats of other tools, and reads the files of other tools."""
