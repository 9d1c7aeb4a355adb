"""Writes the HTML report of a run as one self-contained file."""

from streamlab.reports.page.write import render_tables, write_report

__all__ = ["render_tables", "write_report"]
