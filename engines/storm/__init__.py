"""Runs topologies on Apache Storm, in a Java process of the trial."""
