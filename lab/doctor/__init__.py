"""What this machine offers to measurements, and what to do about what it lacks."""
