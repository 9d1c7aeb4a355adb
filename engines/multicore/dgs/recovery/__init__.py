"""Writes checkpoints of DGS programs to disk, and resumes runs from them: docs/recovery.md."""
