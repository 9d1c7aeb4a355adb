"""Defines network connections as in KDD Cup 1999: 7 categorical and 34 continuous features.

All features are whole numbers, so sums are exact in any order:

- Categorical features are codes from 0. Each combination of the seven has a number.
- `duration`, `src_bytes` and `dst_bytes` reach over eight powers of ten. They are on a logarithmic
  scale, see `scaled`.
- Rates from 0 to 1 are in hundredths, as in the file. Counts are unchanged.

The label gives the true class of a connection. Only `outlier_detection/quality.py` reads it, not
programs. The KDD file has no times, so event time is the row number.
"""

import numpy as np

INPUT = "outlier_detection"
"""Name of this input in the catalogue."""

KINDS = ("connection", "check")
CONNECTION, CHECK = 0, 1

COLUMNS = (
    "duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "land",
    "wrong_fragment", "urgent", "hot", "num_failed_logins", "logged_in", "num_compromised",
    "root_shell", "su_attempted", "num_root", "num_file_creations", "num_shells",
    "num_access_files", "num_outbound_cmds", "is_host_login", "is_guest_login", "count",
    "srv_count", "serror_rate", "srv_serror_rate", "rerror_rate", "srv_rerror_rate",
    "same_srv_rate", "diff_srv_rate", "srv_diff_host_rate", "dst_host_count",
    "dst_host_srv_count", "dst_host_same_srv_rate", "dst_host_diff_srv_rate",
    "dst_host_same_src_port_rate", "dst_host_srv_diff_host_rate", "dst_host_serror_rate",
    "dst_host_srv_serror_rate", "dst_host_rerror_rate", "dst_host_srv_rerror_rate",
)  # fmt: skip
"""The features in the order of the file, which ends with the label."""

TEXTS = ("protocol_type", "service", "flag")
"""Categorical features with text values; the other categorical features are 0 or 1."""

CATEGORICAL = (*TEXTS, "land", "logged_in", "is_host_login", "is_guest_login")
CONTINUOUS = tuple(name for name in COLUMNS if name not in CATEGORICAL)
LOGARITHMIC = ("duration", "src_bytes", "dst_bytes")

COMBINATIONS = 256
"""Maximum number of combinations of categorical values, the capacity of a model."""

EVENT = np.dtype(
    [
        ("row", np.int64),
        ("combination", np.int16),
        *((name, np.int16) for name in (*CATEGORICAL, *CONTINUOUS)),
    ]
)
"""Fields that programs read: number of the connection, number of its combination, features."""

FIELDS = np.dtype([*((name, EVENT[name]) for name in EVENT.names or ()), ("label", np.int16)])
"""Fields of a stream of connections."""

NORMAL = 0
"""Label of generated connections that are not planted outliers."""

_UNIT_BITS = 7


def scaled(value: int) -> int:
    """Return 128 log2(`value` + 1), linear between powers of two.

    Integer arithmetic gives the same result on every machine: 0, 128, 192, 256 for 0, 1, 2, 3. The
    largest byte count in the file gives 3,776.
    """
    exponent = (value + 1).bit_length() - 1
    fraction = (((value + 1) << _UNIT_BITS) >> exponent) - (1 << _UNIT_BITS)
    return (exponent << _UNIT_BITS) + fraction
