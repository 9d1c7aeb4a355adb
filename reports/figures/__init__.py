"""Draws the figures of reports, one module a figure; `paper` has the layout of papers' figures."""
