"""Results of runs: their schema, how they are stored, and what is asked of them."""
