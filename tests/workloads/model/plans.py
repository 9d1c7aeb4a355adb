"""Programs, rates and plans for the tests of optimizers."""

import numpy as np

from streamlab.workloads.model import DGSProgram, OutputType
from streamlab.workloads.model.dgs.plan import PlanNode
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.suite.event_window.program import PROGRAM as EVENT_WINDOW
from streamlab.workloads.suite.fraud_detection.program import PROGRAM as FRAUD_DETECTION
from streamlab.workloads.suite.keyed_counter.program import PROGRAM as KEYED_COUNTER
from streamlab.workloads.suite.page_view_join.program import PROGRAM as PAGE_VIEW_JOIN

PROGRAMS = (EVENT_WINDOW, FRAUD_DETECTION, KEYED_COUNTER, PAGE_VIEW_JOIN)
BAG = OutputType(kinds=("any",), depends=lambda a, b: False)


def stream(program: DGSProgram, name: str, kinds: tuple[int, ...], counts: object) -> StreamProfile:
    table = np.array(counts, dtype=np.int64).reshape(-1, len(program.kinds))
    return StreamProfile(name=name, kinds=kinds, counts=table)


def leaves(node: PlanNode) -> list[PlanNode]:
    return [below for below in node.walk() if not below.children]
