"""Runs topologies on Kafka Streams, in a Java process of the trial that reads from a broker."""
