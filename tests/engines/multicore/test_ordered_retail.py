"""The five TPCx-BB queries, compiled: native pipelines give the oracles' sequences."""

import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.multicore.ordered.options import OrderedOptions
from streamlab.engines.multicore.ordered.run import OrderedRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import Pipeline
from streamlab.workloads.registry import names, workload
from tests.workloads.suite.streams import generated, rows

NAMES = (
    "items_sold_together",
    "items_viewed_together",
    "last_views_before_purchase",
    "cart_abandonment",
    "declining_categories",
)
PIPELINES = [name for name in names() if isinstance(workload(name).program, Pipeline)]


@pytest.mark.some(3)
@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_native_pipeline_gives_the_sequence_of_the_oracle(name: str, streams: int):
    chosen = workload(name)
    data = ordinary_input(chosen)
    if streams > 1:
        small = {**chosen.small, "streams": streams}
        data = generated(chosen, small, max(20_000, chosen.small_events), seed=4)
    expected = rows(chosen, chosen.oracle(data))
    assert len(expected) > 1
    for workers, batch, options in (
        (1, 64, OrderedOptions()),
        (2, 7, OrderedOptions()),
        (2, 1, OrderedOptions(serials="operator", worklist="partitioned", partitions=3)),
        (1, 64, OrderedOptions(serials="operator")),
    ):
        assert answered(chosen, data, workers, batch, options) == expected


@pytest.mark.full
@pytest.mark.parametrize("batch", [1, 64, 4096])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("worklist", ["hybrid", "partitioned", "shared"])
@pytest.mark.parametrize("name", PIPELINES)
def test_serials_of_operators_give_the_sequence_of_the_oracle(name, worklist, workers, batch):
    chosen = workload(name)
    data = ordinary_input(chosen)
    expected = rows(chosen, chosen.oracle(data))
    for reordering in ("nonblocking", "lock"):
        options = OrderedOptions(serials="operator", worklist=worklist, reordering=reordering)
        assert answered(chosen, data, workers, batch, options) == expected


def answered(chosen, data, workers, batch, options):
    run = OrderedRun(
        chosen.program, data, RunSettings(workers=workers, batch=batch, ring_blocks=16), options
    )
    try:
        run.run()
        return rows(chosen, run.answer())
    finally:
        run.close()
