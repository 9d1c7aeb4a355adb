"""Tables in embedded databases, with a look-up for each event or a write at each marker."""
