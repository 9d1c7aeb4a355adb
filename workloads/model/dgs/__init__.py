"""Programs with dependency-guided synchronization (DGS): program, laws, synchronization plans."""
