"""Runs typed dataflow graphs, with an instance of each operator per worker, aligned by markers."""
