"""Offered load: when each event is due, in the trial and in what plans it."""
