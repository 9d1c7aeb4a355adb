"""Offered load: when each event is due."""
