"""Changes the synchronization plan during a run: docs/decisions/0030-adaptive-plans.md."""
