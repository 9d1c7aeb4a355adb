"""Reproduces figures of papers: experiments, claims and a verdict; one subpackage per paper."""
