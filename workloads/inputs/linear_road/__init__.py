"""Linear Road's input, and what the workloads on it share."""
