"""Declared windows of arrival time, and their answer for given times of arrival."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import streamlab as lab
from streamlab.engines.protocol import IntArray
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns, Workload
from streamlab.workloads.model.reference import answer_of
from tests.workloads.declarative.declared_runs import random_rides, table_of

MS = 1_000_000
RESULT = {
    "highest": lab.max("price"),
    "lowest": lab.min("duration"),
    "median": lab.percentile("price", 50, error=0.01, low=0.01, high=100),
    "mean": lab.mean("price"),
    "seconds": lab.sum("duration"),
    "price": lab.sum("price"),
    "rides": lab.count(),
}


def arrival_windows(rides: pd.DataFrame | None = None, **meaning: object) -> Workload:
    """Return windows of 20 ms of arrival time, every 10 ms."""
    arguments = {
        "every": "10 ms",
        "key": "station",
        "where": "duration > 60",
        "input": table_of(random_rides(1) if rides is None else rides),
        "result": RESULT,
        "name": "arrivals",
    }
    return lab.window("20 ms", time="arrival", **{**arguments, **meaning})


def dataset_of(subject: Workload, folder: Path) -> Dataset:
    """Return the dataset of a workload's table."""
    return ensure(subject, {}, 0, 1, catalog=Catalog(root=folder / "catalogue"))


def answer_at(subject: Workload, dataset: Dataset, arrival_ns: IntArray) -> Columns:
    """Return the answer if the rows arrive at these times."""
    data = dataset.load()
    (stream,) = data.streams
    arrived = replace(stream, ts=np.sort(arrival_ns) // MS)
    return answer_of(subject.program, replace(data, streams=(arrived,)))
