"""Page-view join: joins each view with the current metadata of its page."""

from streamlab.workloads.model import OutputType, Workload
from streamlab.workloads.model.streams.limits import KEY, count_limit
from streamlab.workloads.suite.page_view_join.generate import (
    KINDS,
    PARAMETERS,
    generate,
    keys,
    streams,
)
from streamlab.workloads.suite.page_view_join.oracle import oracle
from streamlab.workloads.suite.page_view_join.program import PROGRAM

_UPDATE = KINDS.index("update")

WORKLOAD = Workload(
    name="page_view_join",
    title="Page views joined with the page's current metadata",
    paper="Stream Processing with Dependency-Guided Synchronization, 4.1 and appendix E",
    program=PROGRAM,
    output=OutputType(
        kinds=KINDS,
        depends=lambda a, b: a.key == b.key and _UPDATE in (a.kind, b.kind),
        kind_field="kind",
        key_field="page",
    ),
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    oracle=oracle,
    limits=(count_limit("events of a page", per=KEY),),
)
