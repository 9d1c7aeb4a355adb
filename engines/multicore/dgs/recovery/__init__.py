"""Checkpoints of DGS programs on disk, and runs that go on from them: docs/recovery.md."""
