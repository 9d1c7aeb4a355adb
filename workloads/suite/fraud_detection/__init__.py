"""Fraud detection: checks transactions against a model that every rule retrains."""

from streamlab.workloads.model import OutputType, Workload
from streamlab.workloads.model.streams.limits import Limit, group_up_to
from streamlab.workloads.suite.fraud_detection.generate import PARAMETERS, generate, keys, streams
from streamlab.workloads.suite.fraud_detection.oracle import AGGREGATE, oracle
from streamlab.workloads.suite.fraud_detection.program import PROGRAM, RULE

WORKLOAD = Workload(
    name="fraud_detection",
    title="Fraudulent transactions by a model that every rule retrains",
    paper="Stream Processing with Dependency-Guided Synchronization, 4.1 and appendix E",
    program=PROGRAM,
    output=OutputType(
        kinds=("fraud", "aggregate"),
        depends=lambda a, b: AGGREGATE in (a.kind, b.kind),
        kind_field="kind",
    ),
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    oracle=oracle,
    limits=(
        Limit(
            field="value",
            quantity="the sum of the transactions since the last rule and the rule that follows",
            remedy="give values of a coarser unit, or rules at shorter distances",
            groups=group_up_to(RULE),
        ),
    ),
)
