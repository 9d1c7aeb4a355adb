"""What ordered pipelines and query graphs share: the operators of a pipeline and their kernels."""
