"""Plans that change while a run goes on: docs/decisions/0030-adaptive-plans.md."""
