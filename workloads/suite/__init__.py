"""The workloads of the suite: a package each, with program, generator and oracle."""
