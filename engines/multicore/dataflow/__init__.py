"""Family dataflow: typed dataflow graphs, whose instances take blocks between markers."""
