"""A module for each workload: `answer(tables)` gives its outputs, in order, or by partitions."""
