"""The reference engine: the sequential semantics of a program, in plain Python."""
