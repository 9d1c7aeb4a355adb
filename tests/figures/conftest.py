"""Runs written with the real writer of results, for figures that take hours to run for real."""

import json

import pytest

from results.store import read_run, write_meta, write_table, write_trial

META = {
    "name": "sample",
    "matrix_text": "",
    "complete": True,
    "cells": {},
    "host": {"cpu_model": "Sample CPU", "cores_usable": 2},
    "vcs": {"commit": "0123456789abcdef", "dirty_diff_sha256": None},
    "datasets": {},
}


def row(key, variant, workers, *, repetition=1, rate=None, load=None, status="ok", **more):
    """One trial of `workload[@label]` on `engine/variant`; under a load when `load` labels one."""
    workload, _, label = key.partition("@")
    engine, _, own = variant.partition("/")
    made = {
        "cell": f"{key}/{variant}/w{workers}/b64" + (f"/{load}" if load else ""),
        "workload": workload,
        "workload_label": label or None,
        "engine": engine,
        "variant": own,
        "workers": workers,
        "batch": 64,
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
    return made | more


@pytest.fixture
def make_run(tmp_path):
    """A function that writes rows as a run and reads it back."""

    def make(rows, name="sample", **meta):
        folder = tmp_path / name
        write_meta(folder, META | meta)
        for index, trial in enumerate(rows):
            write_trial(folder, f"{index:04d}", trial | {"order_index": index})
        write_table(folder)
        return read_run(folder)

    return make


@pytest.fixture(name="row")
def row_fixture():
    return row
