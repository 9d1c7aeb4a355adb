"""Keyed counters: counts increments by key; a read-reset emits the count and starts over."""

from streamlab.workloads.model import OutputType, Workload
from streamlab.workloads.suite.keyed_counter.generate import PARAMETERS, generate, keys, streams
from streamlab.workloads.suite.keyed_counter.oracle import oracle
from streamlab.workloads.suite.keyed_counter.program import PROGRAM

WORKLOAD = Workload(
    name="keyed_counter",
    title="Increments and read-resets of one counter per key",
    paper="Stream Processing with Dependency-Guided Synchronization, section 2",
    program=PROGRAM,
    output=OutputType(
        kinds=("count",),
        depends=lambda a, b: a.key == b.key,
        key_field="key",
    ),
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    oracle=oracle,
)
