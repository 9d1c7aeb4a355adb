"""The workloads of the suite, a package each: program, generator, oracle."""
