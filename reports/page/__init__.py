"""The HTML report of a run: one file that needs nothing else."""

from streamlab.reports.page.write import render_tables, write_report

__all__ = ["render_tables", "write_report"]
