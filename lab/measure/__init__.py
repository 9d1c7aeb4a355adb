"""Measures trials from the lab's side, without trusting the engine."""
