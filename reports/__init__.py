"""Makes figures and pages from the results of a run; depends only on `results`."""
