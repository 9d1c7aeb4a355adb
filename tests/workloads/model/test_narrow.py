"""A workload of another model than is wanted says which it is."""

import numpy as np
import pytest

from tests.workloads.model.dataflow.parts import averages
from workloads.datasets.tables import arrays
from workloads.model import ModelError
from workloads.model.narrow import dgs_program, pipeline, query
from workloads.own import workload


@pytest.mark.parametrize("narrow", [dgs_program, query, pipeline])
def test_a_dataflow_is_named(narrow):
    columns = {"ts": np.zeros(1, np.int64), "plug": np.zeros(1), "load": np.zeros(1)}
    found = workload(averages(), input=arrays(columns, ts="ts"))
    with pytest.raises(ModelError, match=r"workload .* is a typed dataflow graph, not a"):
        narrow(found)
