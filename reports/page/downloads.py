"""Embeds the data of a run into its page, so that a mailed page still has them."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from streamlab.results.schema import TrialRow
from streamlab.results.table import csv_of, parquet_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file inside the page: its name, its size in bytes, and its content as a data URL."""

    name: str
    size: int
    address: str


def downloads(rows: Sequence[TrialRow], name: str) -> tuple[Download, ...]:
    """Return the trials as CSV and as Parquet."""
    files = (
        ("csv", "text/csv;charset=utf-8", csv_of(rows)),
        ("parquet", "application/vnd.apache.parquet", parquet_of(rows)),
    )
    return tuple(
        Download(
            name=f"{name}.{ending}",
            size=len(content),
            address=f"data:{kind};base64,{base64.b64encode(content).decode()}",
        )
        for ending, kind, content in files
    )
