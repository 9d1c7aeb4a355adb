"""The papers' figures, made again: experiments, claims, and a verdict. One module a paper."""
