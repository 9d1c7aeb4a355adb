"""Network connections as in the KDD Cup of 1999: 7 categorical and 34 continuous features.

All of them are whole numbers, so that sums over them are exact and in no order:

- Categorical features are codes from 0. A combination of the seven has a number of its own.
- `duration`, `src_bytes` and `dst_bytes`, which reach over eight powers of ten, are on a
  logarithmic scale: `scaled`.
- Rates, from 0 to 1, are in hundredths, as the file has them. Counts are themselves.

The label says what a connection was. It is for whoever counts what was found; programs do not read
it. Event time of a real file is the number of the row, since it has no times.
"""

import numpy as np

INPUT = "outlier_detection"
"""By which datasets are kept."""

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
"""The features in the order of the file; the label follows."""

TEXTS = ("protocol_type", "service", "flag")
"""Categorical features that are words; the others are 0 or 1."""

CATEGORICAL = (*TEXTS, "land", "logged_in", "is_host_login", "is_guest_login")
CONTINUOUS = tuple(name for name in COLUMNS if name not in CATEGORICAL)
LOGARITHMIC = ("duration", "src_bytes", "dst_bytes")

COMBINATIONS = 256
"""Most combinations of categorical values: a model has room for so many."""

EVENT = np.dtype(
    [
        ("row", np.int64),
        ("combination", np.int16),
        *((name, np.int16) for name in (*CATEGORICAL, *CONTINUOUS)),
    ]
)
"""What programs read: the number of the connection, of its categorical values, and its features."""

FIELDS = np.dtype([*((name, EVENT[name]) for name in EVENT.names or ()), ("label", np.int16)])
"""What a stream of connections carries."""

NORMAL = 0
"""Label of generated connections that are none of the planted outliers."""

_UNIT_BITS = 7


def scaled(value: int) -> int:
    """Return 128 times the logarithm to base 2 of `value + 1`, linear between powers of two.

    In whole numbers, so that every machine has the same: 0, 128, 192, 256 for 0, 1, 2, 3; 3,776
    for the most bytes in the file.
    """
    whole = (value + 1).bit_length() - 1
    return (whole << _UNIT_BITS) + (((value + 1) << _UNIT_BITS) >> whole) - (1 << _UNIT_BITS)
