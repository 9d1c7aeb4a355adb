"""Rows and targets for the tests of the benchmarks' figures."""

from benchmarks.figures import Quantity, Target
from tests.results.records import trial_row

CELL = "event_window/multicore/dgs/w2/b4096"


def row(cell=CELL, **columns):
    given = {"cell": cell, "status": "ok", "purpose": "cell", "repetition": 1, "order_index": 0}
    return trial_row(given | columns)


def target(value=CELL, **more):
    bound = {} if "at_most" in more else {"at_least": 1.0}
    quantities = {key: Quantity.parse(more.pop(key)) for key in ("over", "beyond") if key in more}
    return Target(name="t", value=Quantity.parse(value), **bound, **quantities, **more)
