"""What is computed: models, datasets, and one package per workload. Imports no engine."""
