"""Any program on Spark: the model's own functions, in Spark's grouped and stateful operators."""
