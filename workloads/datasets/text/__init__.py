"""Text files: their encodings, line ends and CSV records, one way for all imports."""
