"""Energy counters of the machine: where they are read, how they are recorded, what they mean."""
