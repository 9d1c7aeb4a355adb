"""Exchanges streams with a broker: Apache Kafka, the format of records, topics of datasets, and their reader."""
