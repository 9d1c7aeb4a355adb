"""Family dgs: programs with dependency-guided synchronization, on synchronization plans."""
