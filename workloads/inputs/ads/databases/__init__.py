"""Tables in embedded databases: looked up for each event, and written at markers."""
