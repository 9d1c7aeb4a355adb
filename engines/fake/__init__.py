"""An engine that computes nothing itself and fails on demand: proof that the lab notices."""
