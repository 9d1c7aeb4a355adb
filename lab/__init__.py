"""The lab: runs workloads on engines, verifies every answer, measures, stores and shows."""
