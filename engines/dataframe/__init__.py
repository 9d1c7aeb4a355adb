"""What a user would write in a few lines of NumPy or Polars: the simple opponents of an engine."""
