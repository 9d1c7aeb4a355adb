"""What is computed: programming models, datasets, and one package per workload. Imports no engine."""
