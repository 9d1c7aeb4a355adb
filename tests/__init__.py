"""Tests; a package, so that `python -m tests.random_runs` finds it before others of that name."""
