"""Makes figures and pages from the results of a run; depends on `results`, and on the engines' variants."""
