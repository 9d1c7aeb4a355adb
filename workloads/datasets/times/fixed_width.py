"""Reads columns of times whose pattern has fields with a fixed number of digits."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}


def fixed_stamps(texts: "pa.Array", pattern: str) -> "pa.Array | None":
    """Return texts as timestamps in seconds.

    None if the pattern has other fields or no day, or if a text does not match it with all digits.
    """
    import pyarrow as pa

    names, model = _fields(pattern)
    if not {"Y", "m", "d"} <= set(names) or len(names) > len(set(names) & set(_DIGITS)):
        return None
    if not pa.types.is_string(texts.type) or texts.null_count or not len(texts):
        return None
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int32)[texts.offset :][: len(texts) + 1]
    if (np.diff(offsets) != len(model)).any():
        return None
    text = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].reshape(-1, len(model))
    signs = np.frombuffer(model, np.uint8)
    is_digit = signs == ord("0")
    if (text[:, ~is_digit] != signs[~is_digit]).any():
        return None
    digits = text[:, is_digit] - np.uint8(ord("0"))  # other signs wrap to above 9
    if (digits > 9).any():
        return None
    pairs = iter((digits[:, 0::2] * np.uint8(10) + digits[:, 1::2]).T.astype(np.int64))
    fields = {name: np.zeros(len(texts), np.int64) for name in _DIGITS}
    for name in names:
        fields[name] = next(pairs) if _DIGITS[name] == 2 else next(pairs) * 100 + next(pairs)
    months = (fields["Y"] - 1970) * 12 + fields["m"] - 1
    first, beyond = (
        (months + later).astype("M8[M]").astype("M8[D]").astype(np.int64) for later in (0, 1)
    )
    day = first + fields["d"] - 1
    good = (
        (fields["m"] >= 1)
        & (fields["m"] <= 12)
        & (fields["d"] >= 1)
        & (day < beyond)
        & (fields["Y"] >= 1)
    )
    good &= (fields["H"] < 24) & (fields["M"] < 60) & (fields["S"] < 60)
    if not good.all():
        return None
    seconds = ((day * 24 + fields["H"]) * 60 + fields["M"]) * 60 + fields["S"]
    return pa.array(seconds, pa.timestamp("s"))


def _fields(pattern: str) -> tuple[list[str], bytes]:
    """Return the fields of a pattern, and a sample of its texts with 0 for each digit."""
    names, model = list[str](), ""
    signs = iter(pattern)
    for sign in signs:
        name = next(signs, "") if sign == "%" else sign if sign.isdigit() else ""
        names += [name] if name else []
        model += "0" * _DIGITS.get(name, 0) if name else sign
    return names, model.encode()
