"""Input of the Linear Road workloads, with their common declaration (`generate`)."""
