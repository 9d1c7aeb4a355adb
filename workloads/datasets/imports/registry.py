"""Finds import kinds by name."""

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.access_log import ACCESS_LOG
from streamlab.workloads.datasets.imports.ad_events import AD_EVENTS
from streamlab.workloads.datasets.imports.debs_readings import DEBS_2014_READINGS
from streamlab.workloads.datasets.imports.homes import DEBS_2014, TRACEBASE_HOMES
from streamlab.workloads.datasets.imports.kdd_cup import KDD_CUP
from streamlab.workloads.datasets.imports.kind import ImportKind
from streamlab.workloads.datasets.imports.linear_road import LINEAR_ROAD
from streamlab.workloads.datasets.imports.nexmark import NEXMARK
from streamlab.workloads.datasets.imports.open_bandit import OPEN_BANDIT
from streamlab.workloads.datasets.imports.retail import RETAIL
from streamlab.workloads.datasets.imports.tracebase import TRACEBASE
from streamlab.workloads.datasets.imports.trades import TRADES
from streamlab.workloads.datasets.imports.tweets import TWEETS
from streamlab.workloads.datasets.imports.wikipedia import WIKIPEDIA_COMMENTS, WIKIPEDIA_EDITS
from streamlab.workloads.name_suggestions import suggest_names

KINDS = (
    ACCESS_LOG,
    AD_EVENTS,
    DEBS_2014,
    DEBS_2014_READINGS,
    KDD_CUP,
    LINEAR_ROAD,
    NEXMARK,
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
    """Return the import kind of this name.

    Raises:
        DatasetError: no kind has this name.
    """
    kinds = {kind.name: kind for kind in KINDS}
    if name not in kinds:
        remedy = suggest_names(name, kinds, "lab data import --help")
        raise DatasetError(f"no import kind {name!r}; {remedy}")
    return kinds[name]
