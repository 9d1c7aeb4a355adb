"""Apache Flink: its DataStream programs in Java, run in a process of the trial's own."""
