"""Runs workloads on DuckDB, as the SQL that a user would write."""
