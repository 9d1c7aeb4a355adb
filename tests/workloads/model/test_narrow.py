"""A workload of another model than is wanted says which it is."""

import numpy as np
import pytest

from streamlab.workloads.datasets.tables import arrays
from streamlab.workloads.model import ModelError
from streamlab.workloads.model.program_type import dgs_program, pipeline, query
from streamlab.workloads.user_workload import workload
from tests.workloads.model.dataflow.parts import averages


@pytest.mark.parametrize("narrow", [dgs_program, query, pipeline])
def test_a_dataflow_is_named(narrow):
    columns = {"ts": np.zeros(1, np.int64), "plug": np.zeros(1), "load": np.zeros(1)}
    found = workload(averages(), input=arrays(columns, ts="ts"))
    with pytest.raises(ModelError, match=r"workload .* is a typed dataflow graph, not a"):
        narrow(found)
