"""The data pipeline on Spark: generate or import, to sorted Parquet in a catalogue."""
