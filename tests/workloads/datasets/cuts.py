"""Cuts what imports read and sort into small parts."""

import pytest

from streamlab.workloads.datasets import sorted_runs, stream_table
from streamlab.workloads.datasets.tables import files, split_writer, table_dataset
from streamlab.workloads.datasets.text import decoding


def cut_small(
    monkeypatch: pytest.MonkeyPatch, bytes_: int = 100, *, files_too: bool = False
) -> None:
    """Make blocks, splits, runs and ranges small; with `files_too` also the files of streams."""
    for module, name, value in (
        (decoding, "BLOCK_BYTES", bytes_),
        (files, "SPLIT_BYTES", bytes_),
        (files, "SPLIT_ROWS", 10),
        (split_writer, "RUN_ROWS", 25),
        (sorted_runs, "RANGE_ROWS", 16),
        (sorted_runs, "SAMPLE_ROWS", 4),
    ):
        monkeypatch.setattr(module, name, value)
    if files_too:
        monkeypatch.setattr(table_dataset, "ROWS_PER_FILE", 50)
        monkeypatch.setattr(stream_table, "ROWS_PER_FILE", 50)
