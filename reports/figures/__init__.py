"""Draws the figures of reports, one module per kind of figure; `paper` draws figures in the layout of papers."""
