"""Figures and pages made from the results of a run; reads only `results` of the lab."""
