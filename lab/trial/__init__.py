"""The measured child: one trial in a fresh process, from its specification to its result."""
