"""Runs workloads on Apache Flink: DataStream programs in Java, in a process of the trial."""
