"""DuckDB: each workload as the SQL that a user of it would write."""
