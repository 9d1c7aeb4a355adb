"""Timely Dataflow: Rust programs of the DGS paper's three applications, in a separate process."""
