"""Makes figures and pages from the results of runs; depends on `results` and on the engines' variants."""
