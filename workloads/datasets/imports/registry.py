"""Finds import kinds by name."""

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.access_log import ACCESS_LOG
from workloads.datasets.imports.ad_events import AD_EVENTS
from workloads.datasets.imports.homes import DEBS_2014, TRACEBASE_HOMES
from workloads.datasets.imports.kdd_cup import KDD_CUP
from workloads.datasets.imports.kind import ImportKind
from workloads.datasets.imports.linear_road import LINEAR_ROAD
from workloads.datasets.imports.open_bandit import OPEN_BANDIT
from workloads.datasets.imports.retail import RETAIL
from workloads.datasets.imports.tracebase import TRACEBASE
from workloads.datasets.imports.trades import TRADES
from workloads.datasets.imports.tweets import TWEETS
from workloads.datasets.imports.wikipedia import WIKIPEDIA_COMMENTS, WIKIPEDIA_EDITS
from workloads.meant import meant

KINDS = (
    ACCESS_LOG,
    AD_EVENTS,
    DEBS_2014,
    KDD_CUP,
    LINEAR_ROAD,
    OPEN_BANDIT,
    RETAIL,
    TWEETS,
    WIKIPEDIA_COMMENTS,
    TRACEBASE,
    TRACEBASE_HOMES,
    TRADES,
    WIKIPEDIA_EDITS,
)


def import_kind(name: str) -> ImportKind:
    """Return the import kind of that name.

    Raises:
        DatasetError: there is none.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise DatasetError(
        f"no import kind {name!r}; "
        f"{meant(name, (kind.name for kind in KINDS), 'lab data import --help')}"
    )
