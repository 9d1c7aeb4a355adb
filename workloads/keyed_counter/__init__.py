"""Counters by key: increments, and read-resets that output the count and start over."""

from workloads.keyed_counter.generate import PARAMETERS, generate, keys, streams
from workloads.keyed_counter.oracle import oracle
from workloads.keyed_counter.program import PROGRAM
from workloads.model import OutputType, Workload

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
