"""The best batch query for each workload's answer."""
