"""Whose systems the claims on ordered pipelines are about."""

from lab.figures.ordered.shared import ORDERED
from lab.figures.systems import System

_PAPER = "Scaling Ordered Stream Processing"


def _system(name: str, where: str, algorithm: str) -> System:
    return System(name=name, source=f"{_PAPER}, {where}", algorithm=algorithm, variant=ORDERED)


def _numbered(name: str, where: str, algorithm: str) -> System:
    """Return a system of pipelines of several operators, each of which numbers its own inputs."""
    return _system(name, where, f"{algorithm}; a serial number for each operator")


HYBRID = _system("hybrid", "section 5", "one queue, and one for each partition behind it")
PARTITIONED = _system("partitioned", "section 5", "a queue for each partition")
NON_BLOCKING = _system("non-blocking", "section 4", "a reordering buffer without a lock")
LOCK = _system("lock-based", "section 4", "a reordering buffer under a lock")
HYBRID_SERIAL = _numbered("hybrid", "section 5", "one queue, and one for each partition behind it")
PARTITIONED_SERIAL = _numbered("partitioned", "section 5", "a queue for each partition")
NON_BLOCKING_SERIAL = _numbered("non-blocking", "section 4", "a reordering buffer without a lock")
LOCK_SERIAL = _numbered("lock-based", "section 4", "a reordering buffer under a lock")
CT = _system("CT", "section 6.4", "the operator with the lowest normalized current throughput next")
LP = _system("LP", "section 6.2", "the last operator in the pipeline that has work next")
ET_QST = _system("ET, QST", "sections 6.1 and 6.3", "by completion time; by bounds on queues")
CT_LP = _system("CT, LP", "sections 6.2 and 6.4", "by current throughput; the last first")
OTHERS_THAN_CT = _system("ET, LP, QST", "section 6", "the heuristics other than CT")
OTHERS_THAN_LP = _system("CT, ET, QST", "section 6", "the heuristics other than LP")
