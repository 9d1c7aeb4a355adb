"""Runs query graphs for the tests, and checks what holds of every run."""

from streamlab.engines.multicore.layers.options import LayersOptions
from streamlab.engines.multicore.run.settings import RunSettings


def run_graph(kind, asked, data, *, workers=1, batch=1, load=None, measure=True, **options):
    """Run a pipeline or query as a graph; return the answer and what was measured."""
    settings = RunSettings(
        workers=workers, batch=batch, ring_blocks=1 << 12, load=load, measure=measure
    )
    made = kind(asked, data, settings, LayersOptions(**options))
    try:
        measured = made.run()
        got = made.answer()
    finally:
        made.close()
    assert measured.events == data.events
    if measure:
        seen = measured.latency.counts.sum()
        if load is not None:
            seen += measured.warm_up_latency.counts.sum()
        assert seen == measured.progress.outputs.sum() == len(got["ts"])
        assert measured.progress.consumed.sum() == data.events
    return got, measured
