"""Defines the systems in the claims on ordered pipelines."""

from streamlab.lab.figures.ordered.shared import BY_OPERATOR, ORDERED
from streamlab.lab.figures.systems import System

_PAPER = "Scaling Ordered Stream Processing"


def _system(name: str, where: str, algorithm: str, **options: object) -> System:
    return System(
        name=name,
        source=f"{_PAPER}, {where}",
        algorithm=algorithm,
        variant=ORDERED,
        options=options,
    )


def _numbered(name: str, where: str, algorithm: str, **options: object) -> System:
    """Return a system for pipelines in which each operator numbers its own inputs."""
    algorithm = f"{algorithm}; a serial number for each operator"
    return _system(name, where, algorithm, **BY_OPERATOR, **options)


_QUEUES = "one queue, and one for each partition behind it"
_NO_LOCK, _LOCK = "a reordering buffer without a lock", "a reordering buffer under a lock"

HYBRID = _system("hybrid", "section 5", _QUEUES, worklist="hybrid")
PARTITIONED = _system(
    "partitioned", "section 5", "a queue for each partition", worklist="partitioned"
)
NON_BLOCKING = _system("non-blocking", "section 4", _NO_LOCK, reordering="nonblocking")
LOCK = _system("lock-based", "section 4", _LOCK, reordering="lock")
HYBRID_SERIAL = _numbered("hybrid", "section 5", _QUEUES, worklist="hybrid")
PARTITIONED_SERIAL = _numbered(
    "partitioned", "section 5", "a queue for each partition", worklist="partitioned"
)
NON_BLOCKING_SERIAL = _numbered("non-blocking", "section 4", _NO_LOCK, reordering="nonblocking")
LOCK_SERIAL = _numbered("lock-based", "section 4", _LOCK, reordering="lock")
CT = _numbered(
    "CT",
    "section 6.4",
    "the operator with the lowest normalized current throughput next",
    scheduler="ct",
)
LP = _numbered(
    "LP", "section 6.2", "the last operator in the pipeline that has work next", scheduler="lp"
)
ET_QST = _numbered("ET, QST", "sections 6.1 and 6.3", "by completion time; by bounds on queues")
CT_LP = _numbered("CT, LP", "sections 6.2 and 6.4", "by current throughput; the last first")
OTHERS_THAN_CT = _numbered("ET, LP, QST", "section 6", "the heuristics other than CT")
OTHERS_THAN_LP = _numbered("CT, ET, QST", "section 6", "the heuristics other than LP")
