"""The HTML report of a run: one file that needs nothing else."""

from reports.page.write import write_report

__all__ = ["write_report"]
