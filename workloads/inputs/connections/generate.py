"""Generates streams of connections with planted outliers, and a stream of checks.

Each dataset has fixed profiles: a value for each categorical feature, and a centre for each continuous
feature. The profile of each connection is drawn from a Zipf distribution, and its features lie near the
profile's centres. With a skew, connections of rare profiles are outliers too. A planted outlier has the
categorical values of its profile, but every second continuous feature lies far from all centres.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import below, draw, draw_at, zipf
from streamlab.workloads.inputs.connections.schema import (
    CATEGORICAL,
    COMBINATIONS,
    CONTINUOUS,
    FIELDS,
    KINDS,
    NORMAL,
)
from streamlab.workloads.inputs.synchronized_streams import Layout
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

__all__ = ["PARAMETERS", "PLANTED", "generate", "keys", "streams"]

PLANTED = NORMAL + 1
"""Label of planted outliers."""

LAYOUT = Layout(kind=KINDS[0], sync=KINDS[1], period="connections_per_check", fields=FIELDS)
PARAMETERS = {
    **LAYOUT.parameters(10_000, "checks"),
    "profiles": Parameter(default=40, help="number of profiles", minimum=1, maximum=COMBINATIONS),
    "skew": Parameter(default=0.0, help="Zipf exponent of profiles", minimum=0.0, maximum=10.0),
    "outliers": Parameter(
        default=0.002, help="share of planted outliers", minimum=0.0, maximum=1.0
    ),
}

_PROFILE, _PLANTED, _NOISE = 0, 1, 2
"""Lanes of random numbers; from `_NOISE` on there is one for each continuous feature."""

_CENTRES, _CODES = 1 << 20, 1 << 21
"""Streams of random numbers for profiles; no stream of events uses them."""

_SHARE_BITS = 32
_VALUES = (3, 16, 8, 2, 2, 2, 2)
"""Number of values of each categorical feature."""
_RANGE, _SPREAD, _FAR = 2000, 40, 3000
"""Centres are below `_RANGE`, so a feature `_FAR` away lies outside every mixture of them."""

streams = LAYOUT.streams


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    ts = LAYOUT.times(params, index, begin, end)
    if LAYOUT.is_sync(params, index):
        return {"ts": ts}
    profile = zipf(
        draw(seed, index, _PROFILE, begin, end), int(params["profiles"]), float(params["skew"])
    )
    threshold = round(float(params["outliers"]) * (1 << _SHARE_BITS))
    planted = below(draw(seed, index, _PLANTED, begin, end), 1 << _SHARE_BITS) < threshold
    columns: Columns = {
        "ts": ts,
        "row": ts * int(params["streams"]) + index,
        "combination": profile.astype(np.int16),
        "label": np.where(planted, PLANTED, NORMAL).astype(np.int16),
    }
    for number, name in enumerate(CATEGORICAL):
        codes = below(draw_at(seed, _CODES, number, profile), _VALUES[number])
        columns[name] = codes.astype(np.int16)
    for number, name in enumerate(CONTINUOUS):
        centre = below(draw_at(seed, _CENTRES, number, profile), _RANGE)
        noise = _noise(draw(seed, index, _NOISE + number, begin, end))
        far = np.where(planted & (number % 2 == 0), _FAR, 0)
        columns[name] = (centre + noise + far).astype(np.int16)
    return columns


def _noise(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return sums of four uniform numbers: nearly normal, at most four times `_SPREAD`."""
    parts = [(bits >> np.uint64(16 * part)) & np.uint64(0xFFFF) for part in range(4)]
    total = sum(part.astype(np.int64) for part in parts) - 2 * 0xFFFF
    return np.asarray(total * _SPREAD >> 15)
