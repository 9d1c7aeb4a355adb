"""The procedure of Benjamini and Hochberg (1995, J. R. Stat. Soc. B 57:289): many tests at once."""

import numpy as np
import numpy.typing as npt


def adjusted(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return adjusted p-values: those at or below q are rejected at a false discovery rate of q.

    Holds for independent tests and for positively dependent ones. Where no hypothesis is false,
    the chance of any rejection is at most q.

    Args:
        p_values: float64[m] in [0, 1], m may be 0.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"expected p-values in [0, 1], got {p_values!r}")
    order = np.argsort(p)[::-1]
    scaled = p[order] * len(p) / np.arange(len(p), 0, -1)
    found = np.empty_like(p)
    found[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return found


def rejected(p_values: npt.ArrayLike, q: float) -> npt.NDArray[np.bool_]:
    """Return which hypotheses are rejected at a false discovery rate of `q`."""
    return np.asarray(adjusted(p_values) <= q)
