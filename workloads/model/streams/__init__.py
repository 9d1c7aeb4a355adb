"""What all models share of input: streams, records, tags, the total order."""
