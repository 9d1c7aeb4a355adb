"""Outlier detection: finds connections that are unlike other connections with the same categorical values."""

from streamlab.workloads.inputs.connections.generate import PARAMETERS, generate, keys, streams
from streamlab.workloads.model import OutputType, Workload
from streamlab.workloads.suite.outlier_detection.oracle import oracle
from streamlab.workloads.suite.outlier_detection.program import PROGRAM

WORKLOAD = Workload(
    name="outlier_detection",
    title="Outliers among network connections, by a model that every check updates",
    paper="Stream Processing with Dependency-Guided Synchronization, appendix A.1",
    program=PROGRAM,
    output=OutputType(kinds=("outlier", "summary"), depends=lambda a, b: True, kind_field="kind"),
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    oracle=oracle,
    small={"connections_per_check": 100},
)
