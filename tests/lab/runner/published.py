"""Small datasets in a catalogue, made without Spark."""

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.small_dataset import SEED
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.manifest import Content
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Block, type_of
from streamlab.workloads.registry import workload


def publish(catalog: Catalog, name: str = "event_window") -> Dataset:
    """Put the small input of a workload, some 3,000 events, into a catalogue."""
    subject = workload(name)
    data = ordinary_input(subject)
    with catalog.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        streams = []
        for stream in data.streams:
            columns: Block = {"ts": stream.ts, **stream.payload}
            if stream.tag is not None:
                columns = {"ts": stream.ts, "tag": stream.tag, **stream.payload}
            types = {column: type_of(values) for column, values in columns.items()}
            streams.append(
                write_stream(folder, stream.name, stream.kinds, types, [columns], data.alphabet)
            )
        content = Content(
            workload=subject.input_name,
            alphabet=data.alphabet,
            streams=tuple(streams),
            origin={"generator": subject.input_name, "seed": SEED},
            source="test",
            licence="CC0-1.0",
        )
        return catalog.publish(folder, content)
