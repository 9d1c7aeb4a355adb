"""Projects a workload to more cores and machines than are here: simulated, by measured costs."""
