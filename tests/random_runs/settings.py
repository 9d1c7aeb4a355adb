"""The settings of a random run of any family: drawn, passed to the engine, and judged."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.engines.conformance_load import small_load
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import ADAPTIVE, BATCHINGS, Measured, OfferedLoad, Prepared
from streamlab.workloads.model import Columns, Input

How = Mapping[str, Any]

LOADS = st.fixed_dictionaries(
    {
        "due": st.sampled_from(["constant", "bursts", "at once"]),
        "gap_ns": st.sampled_from([1_000, 100, 20_000]),
        "batching": st.sampled_from(BATCHINGS),
        "warm_up": st.booleans(),
        "silence_ns": st.sampled_from([0, 500_000]),
    }
)


@st.composite
def settings(draw: st.DrawFn, workers: tuple[int, ...] = (1, 2, 2, 3, 4, 5, 8)) -> dict[str, Any]:
    """Draw what all families have; load and measuring go together, as the adapter has it."""
    load = draw(st.none() | LOADS)
    return {
        "workers": draw(st.sampled_from(workers)),
        "batch": draw(st.sampled_from([1, 2, 3, 7, 64, 1000])),
        "ring_blocks": draw(st.sampled_from([64, 1, 2, 16] if load is None else [1 << 14, 1024])),
        "pin": draw(st.sampled_from([None, False, True])),
        "measure": load is not None or draw(st.booleans()),
        "expected_outputs": draw(st.sampled_from([None, 0, 3, 10_000])),
        "load": load,
        "repetitions": draw(st.sampled_from([1, 1, 2, 4])),
    }


def made(how: How, data: Input) -> RunSettings:
    """Return the settings of a run."""
    return RunSettings(
        workers=how["workers"],
        batch=how["batch"],
        ring_blocks=how["ring_blocks"],
        pin=how["pin"],
        load=None if how["load"] is None else _load(how["load"], data),
        measure=how["measure"],
        expected_outputs=how["expected_outputs"],
        link_rows=how.get("link_rows"),
    )


def _load(load: How, data: Input) -> OfferedLoad:
    numbers = np.arange(data.events, dtype=np.int64)
    due = {"constant": numbers, "bursts": numbers // 16 * 32, "at once": 0 * numbers}[load["due"]]
    due = due * load["gap_ns"]
    return small_load(
        [stream.ts for stream in data.streams],
        due,
        warm_up_ns=int(due[-1]) // 2 if load["warm_up"] and len(due) else 0,
        silence_ns=load["silence_ns"],
        batching=load.get("batching", ADAPTIVE),
    )


def repeat(
    how: How,
    data: Input,
    make: Callable[[RunSettings], Prepared],
    judge: Callable[[Columns], None],
    during: Callable[[Prepared], Measured] = lambda run: run.run(),
) -> None:
    """Run as often as is asked for, and judge every answer and what was counted."""
    for _ in range(how["repetitions"]):
        run = make(made(how, data))
        try:
            measured = during(run)
            got = run.answer()
        finally:
            run.close()
        judge(got)
        _check_counts(measured, len(got["ts"]), data.events, under_load=how["load"] is not None)


def _check_counts(measured: Measured, rows: int, events: int, *, under_load: bool) -> None:
    assert measured.events == events, f"counted {measured.events} events of {events}"
    progress = measured.progress
    if progress is not None:
        assert progress.consumed.sum() == events, f"counted {progress.consumed.sum()} as consumed"
    if under_load:
        assert progress is not None
        assert progress.outputs.sum() == rows, f"counted {progress.outputs.sum()} rows of {rows}"
        assert measured.latency is not None and measured.warm_up_latency is not None
        timed = measured.latency.counts.sum() + measured.warm_up_latency.counts.sum()
        assert timed == rows, f"timed {timed} rows of {rows}"
