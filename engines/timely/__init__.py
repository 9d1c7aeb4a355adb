"""Runs the DGS paper's three applications on Timely Dataflow: Rust programs in a separate process."""
