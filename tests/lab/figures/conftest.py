"""Runs written with the real writer of results, for figures that take hours to run for real."""

import json

import numpy as np
import pytest

from streamlab.engines.protocol import Elasticity, Progress, Reconfiguration
from streamlab.lab.figures import judge
from streamlab.lab.measure.elastic import write_reconfigurations
from streamlab.lab.measure.series import STEP_NS, Phases, Recording, write_series
from streamlab.results.seal import seal_files
from streamlab.results.stats.estimates import FEWEST
from streamlab.results.store import read_run, write_table
from tests.results.records import store_meta, store_trial

META = {
    "name": "sample",
    "matrix_text": "",
    "complete": True,
    "cells": {},
    "host": {"cpu_model": "Sample CPU", "cores_usable": 2},
    "vcs": {"commit": "0123456789abcdef", "dirty_diff_sha256": None},
    "datasets": {},
}


def row(
    key, variant, workers, *, repetition=1, rate=None, load=None, status="ok", batch=64, label=None,
    counters=None, **more,
):  # fmt: skip
    """One trial of `workload[@label]` on `engine/variant`; under a load when `load` labels one.

    `label` is that of the engine's table in the matrix.
    """
    workload, _, workload_label = key.partition("@")
    engine, _, own = variant.partition("/")
    made = {
        "cell": "/".join(
            part for part in (key, variant, f"w{workers}", f"b{batch}", label, load) if part
        ),
        "workload": workload,
        "workload_label": workload_label or None,
        "engine": engine,
        "variant": own,
        "workers": workers,
        "batch": batch,
        "repetition": repetition,
        "status": status,
        "oversubscribed": workers > 2,
        "dataset": "ab" * 32,
    }
    if status in ("ok", "unsteady", "unsustained"):
        made |= {"events": 1_000_000, "outputs": 1000, "duration_s": 2.0}
        made |= {"throughput_eps": rate} if load is None else {"load_label": load}
        if load is not None:
            made["load"] = json.dumps({"rate_eps": rate})
    if counters is None and variant == "multicore/dgs":
        counters = {"synchronizations": 9}
    if counters is not None:
        made["counters"] = json.dumps(counters)
    return made | more


@pytest.fixture
def make_run(tmp_path):
    """A function that writes rows as a run and reads it back, by default each of them repeated.

    Repetitions are all the same: what noise does to verdicts, test_noise looks at.
    """

    def make(rows, name="sample", repetitions=FEWEST, **meta):
        folder = tmp_path / name
        store_meta(folder, META | meta)
        for index in range(len(rows) * repetitions):
            trial = rows[index % len(rows)]
            again = {"order_index": index, "repetition": index // len(rows) + 1}
            store_trial(folder, f"{index:04d}", trial | again)
        write_table(folder)
        return read_run(folder)

    return make


@pytest.fixture(name="row")
def row_fixture():
    return row


def write_timeline(folder, trial, *, seconds, rate, instances, latency_ms, changes=(), cov=0.01):
    """Write series and reconfigurations of a trial as the lab does; functions take seconds."""
    rows = round(seconds * 10)
    t_s = np.arange(rows) / 10

    def column(function, factor=1.0):
        return np.array([round(function(t) * factor) for t in t_s], dtype=np.int64)

    per_row = column(rate, 0.1)
    late = column(latency_ms, 1e6)
    progress = Progress(
        step_ns=STEP_NS,
        emitted=per_row,
        consumed=per_row,
        outputs=np.ones(rows, dtype=np.int64),
        latency_p50_ns=late,
        latency_p99_ns=late * 3,
        latency_max_ns=late * 5,
    )
    elasticity = Elasticity(
        reconfigurations=tuple(
            Reconfiguration(
                at_ns=round(at_s * 1e9),
                duration_ns=round(ms * 1e6),
                before=before,
                after=after,
                event_ts=0,
            )
            for at_s, ms, before, after in changes
        ),
        instances=column(instances),
        comparisons=per_row * 40_000,
        load_cov=np.full(rows, cov),
    )
    series = folder / "series" / f"{trial}.parquet"
    end_ns = rows * STEP_NS
    write_series(
        Recording(
            phases=Phases(start_ns=0, end_ns=end_ns, warm_up_ns=0, load_end_ns=end_ns),
            progress=progress,
            elasticity=elasticity,
        ),
        series,
    )
    changed = folder / "series" / f"{trial}.reconfigurations.parquet"
    write_reconfigurations(elasticity, changed)
    seal_files(folder, series, changed)
    return {
        "series": str(series.relative_to(folder)),
        "reconfigurations": str(changed.relative_to(folder)),
    }


@pytest.fixture(name="write_timeline")
def write_timeline_fixture():
    return write_timeline


@pytest.fixture
def opponents_are_here(monkeypatch):
    """How claims are judged once the opponents that they lack are here, by numbers made up."""
    monkeypatch.setattr(judge, "absent", lambda _: None)
