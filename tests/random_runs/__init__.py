"""Random runs of the multicore core against the reference: `python -m tests.random_runs --help`.

A run is drawn from its family and its seed alone: a program, an input and how it is run. It is
executed in a process of its own, so that a crash or a hang is a finding as a wrong answer is, and
what fails is shrunk by Hypothesis.
"""
