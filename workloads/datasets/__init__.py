"""The data pipeline: generates or imports datasets as sorted Parquet files in a catalogue."""
