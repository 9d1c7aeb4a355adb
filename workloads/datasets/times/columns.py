"""Reads times from Arrow columns."""

import itertools
import re
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.arrow import has_hexadecimal
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.times.duration import FARTHEST, PER_SECOND, UNIT_NAMES
from streamlab.workloads.datasets.times.reader import TimeReader
from streamlab.workloads.datasets.times.recognition import ISO
from streamlab.workloads.datasets.times.zones import Ints, utc_times

_MAX_CACHED = 1 << 20
"""Maximum number of texts with cached times. Times in minutes or days repeat."""
_MAX_EXACT = 2.0**24
"""32-bit floats represent all whole numbers up to this one exactly."""

_DIGITS = {"Y": r"\d{4}", "m": r"\d\d", "d": r"\d\d", "H": r"\d\d", "M": r"\d\d", "S": r"[0-5]\d"}
"""Regular expressions of the pattern fields with a fixed number of digits."""

Times = tuple[Ints, dict[int, str]]
"""Times of all rows (0 for a bad row), and by row why it is bad."""
RowWords = Callable[[int], str]
"""Names a row of a column, given its index."""


class ColumnTimes:
    """Reads columns of times with one `TimeReader`, which it updates."""

    def __init__(self, reader: TimeReader) -> None:
        self.reader = reader
        self._times: dict[str, int | str] = {}
        self._repeated: set[str] = set()

    def read(self, column: "pa.Array", place: str, row: RowWords) -> Times:
        """Return the times of a column.

        Raises:
            DatasetError: a column of this type cannot hold times, or no times in the reader's format.
        """
        self.reader.used = True
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        if pa.types.is_null(kind):
            return np.zeros(len(column), np.int64), dict.fromkeys(range(len(column)), "is empty")
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
            kind = column.type
        if pa.types.is_timestamp(kind):
            if self.reader.time_format is not None:
                raise DatasetError(
                    f"{place}: the times are already of type {kind}; leave out the time format "
                    f"({self.reader.time_format})"
                )
            self.reader.stamps = True
            return self._read_stamps(column, row, column)
        if pa.types.is_integer(kind):
            return self._parse_integers(column, row)
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            if pa.types.is_floating(kind):
                column = pc.if_else(pc.is_finite(column), column, None)
                _check_precision(column, place)
            with suppress(pa.ArrowInvalid):  # pandas stores whole numbers with gaps as floats
                return self._parse_integers(column.cast(pa.int64()), row)
            return self._read_texts(column.cast(pa.string()), row)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._read_texts(column, row)
        raise DatasetError(f"{place}: a column of type {kind} holds no times")

    def _read_stamps(self, column: "pa.Array", row: RowWords, shown: "pa.Array") -> Times:
        """Return the times of timestamps; count repeated times, which messages show as in `shown`."""
        values, bad, repeated = self._convert_to_utc(column)
        if len(repeated):
            first = int(repeated[0])
            self.reader.count_repeated(len(repeated), f"{shown[first]} ({row(first)})")
        return self._scale(values, column.type.unit, _add_empty(column, bad))

    def _convert_to_utc(self, column: "pa.Array") -> tuple[Ints, dict[int, str], Ints]:
        """Return the result of `utc_times` for a column of timestamps."""
        values = np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))
        return utc_times(values, column.type.unit, "UTC" if column.type.tz else self.reader.zone)

    def _parse_integers(self, column: "pa.Array", row: RowWords) -> Times:
        bad = _add_empty(column, {})
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        if values.dtype == np.uint64:
            is_too_far = values > np.uint64(2**63 - 1)
            bad.update(
                {int(row): f"{values[row]} is beyond 2^63" for row in np.flatnonzero(is_too_far)}
            )
            values = np.where(is_too_far, 0, values)
        values = values.astype(np.int64)
        if self.reader.time_format is None:
            if self.reader.recognition.time_format is None:
                self._recognize(*_encode(column.cast(pa.string()), row))
            is_good = np.ones(len(values), np.bool_)
            is_good[list(bad)] = False
            bad.update(self._explain_foreign(values, is_good, values.__getitem__))
        elif self.reader.numeric_unit is None:
            return self._read_texts(column.cast(pa.string()), row)  # such as 20240131 for %Y%m%d
        return self._scale(values, self.reader.numeric_unit or self.reader.unit, bad)

    def _explain_foreign(
        self, values: Ints, selected: npt.NDArray[np.bool_], text_of: Callable[[int], object]
    ) -> dict[int, str]:
        """Return, by index, why a selected number is not in the recognized format."""
        recognition = self.reader.recognition
        is_foreign = recognition.foreign_mask(np.abs(values.astype(np.float64))) & selected
        return {
            index: recognition.explain_number(str(text_of(index)))
            for index in np.flatnonzero(is_foreign).tolist()
        }

    def _read_texts(self, column: "pa.Array", row: RowWords) -> Times:
        stamps = _fixed_stamps(column, self.reader.time_format) if self.reader.time_format else None
        if stamps is not None:
            self.reader.note_zone(str(column[0]), named=False)
            return self._read_stamps(stamps, row, column)
        texts, codes, row_of = _encode(pc.utf8_trim_whitespace(column), row)
        self._repeated.clear()
        if self.reader.recognition.time_format is None and self.reader.time_format in (None, ISO):
            self._recognize(texts, codes, row_of)
        times, reasons = self._convert_at_once(texts, codes) or self._parse_texts(texts)
        bad = {int(index): "is empty" for index in np.flatnonzero(codes < 0)}
        if reasons:
            for index in np.flatnonzero(np.isin(codes, list(reasons))):
                bad[int(index)] = reasons[int(codes[index])]
        if self._repeated:
            self._count_repeated(texts, codes, row)
        if not len(times):
            return np.zeros(len(codes), np.int64), bad
        return np.where(codes < 0, 0, times[codes]), bad

    def _recognize(self, texts: "pa.Array", codes: Ints, row_of: RowWords) -> None:
        """Decide the format of times from the first texts."""
        if len(texts):
            self.reader.recognition.decide(
                texts.to_pylist(),
                np.bincount(codes[codes >= 0], minlength=len(texts)),
                row_of,
                numbers=self.reader.time_format is None,
            )

    def _convert_at_once(self, texts: "pa.Array", codes: Ints) -> Times | None:
        """Return the times of texts that Arrow can convert at once; None if it cannot."""
        if self.reader.recognition.time_format == ISO and len(texts):
            column = self._stamp_column(texts)
            if column is None:
                return None
            values, bad, repeated = self._convert_to_utc(column)
            self._repeated.update(texts.take(repeated).to_pylist())
            self.reader.note_zone(str(texts[0]), named=bool(column.type.tz))
            return self._scale(values, column.type.unit, _add_empty(column, bad))
        unit = self.reader.numeric_unit
        if unit is None or (numbers := _whole_numbers(texts)) is None:
            return None
        bad = {}
        if self.reader.time_format is None:
            is_used = np.isin(np.arange(len(texts)), codes)
            bad = self._explain_foreign(numbers, is_used, texts.__getitem__)
        return self._scale(numbers, unit, bad)

    def _stamp_column(self, texts: "pa.Array") -> "pa.Array | None":
        """Return ISO 8601 texts as timestamps; None if Arrow cannot read them."""
        for unit, zone in itertools.product(("us", "ns"), (None, "UTC")):
            with suppress(pa.ArrowInvalid):  # too many digits, or too far from 1970
                return texts.cast(pa.timestamp(unit, zone))
        return None

    def _parse_texts(self, texts: "pa.Array") -> Times:
        """Return the times of texts, parsed one by one and cached."""
        if len(self._times) > _MAX_CACHED:
            self._times.clear()
            self.reader.repeated_texts.clear()
        text_list = texts.to_pylist()
        for text in text_list:
            if text not in self._times:
                self._times[text] = self.reader.parse(text)
        self._repeated.update(self.reader.repeated_texts.intersection(text_list))
        parsed = [self._times[text] for text in text_list]
        reasons = {index: reason for index, reason in enumerate(parsed) if isinstance(reason, str)}
        return np.array([0 if isinstance(v, str) else v for v in parsed], np.int64), reasons

    def _count_repeated(self, texts: "pa.Array", codes: Ints, row: RowWords) -> None:
        is_repeated = pc.is_in(texts, pa.array(sorted(self._repeated), texts.type))
        repeated_codes = np.flatnonzero(is_repeated.to_numpy(zero_copy_only=False))
        rows = np.flatnonzero(np.isin(codes, repeated_codes))
        first = int(rows[0])
        self.reader.count_repeated(len(rows), f"{texts[int(codes[first])]} ({row(first)})")

    def _scale(self, values: Ints, unit: str, bad: dict[int, str]) -> Times:
        """Convert times in `unit` to the unit of event time; add times that are too far from 1970 to `bad`."""
        source, target = PER_SECOND[unit], PER_SECOND[self.reader.unit]
        limit = min(2**63 - 1, FARTHEST * source // target)
        is_too_far = (values > limit) | (values < -limit)
        for row in np.flatnonzero(is_too_far):
            bad.setdefault(int(row), f"{values[row]} is beyond 2^61 {UNIT_NAMES[self.reader.unit]}")
        values = np.where(is_too_far, 0, values)
        if target <= source:
            return values // (source // target), bad
        return values * (target // source), bad


def _encode(column: "pa.Array", row: RowWords) -> tuple["pa.Array", Ints, RowWords]:
    """Return the distinct texts, each row's text index (-1: null), and a function that names a text's first row."""
    coded = column.dictionary_encode(null_encoding="mask")
    codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False))
    return coded.dictionary, codes, lambda code: row(int(np.argmax(codes == code)))


def _fixed_stamps(texts: "pa.Array", pattern: str) -> "pa.Array | None":
    """Return texts as timestamps in seconds, if all have exactly the digits of the pattern; otherwise None.

    Arrow's `strptime` alone would accept fewer digits, and days beyond the end of a month.
    """
    names = re.findall("%(.)", pattern)
    if not {"Y", "m", "d"} <= set(names) <= set(_DIGITS) or len(names) > len(set(names)):
        return None
    if not pa.types.is_string(texts.type) or texts.null_count or not len(texts):
        return None
    shape = re.sub("%(.)", lambda name: _DIGITS[name[1]], re.escape(pattern))
    if not pc.all(pc.match_substring_regex(texts, f"^{shape}$")).as_py():
        return None
    stamps = pc.strptime(texts, format=pattern, unit="s", error_is_null=True)
    day_begin = pattern.index("%d") + 2 * ("%Y" in pattern.partition("%d")[0])  # %Y has four digits
    days = pc.utf8_slice_codeunits(texts, day_begin, day_begin + 2).cast(pa.int64())
    exact = (
        not stamps.null_count
        and pc.day(stamps).equals(days)
        and pc.min(pc.year(stamps)).as_py() > 0
    )
    return stamps if exact else None


def _whole_numbers(texts: "pa.Array") -> Ints | None:
    """Return texts as whole numbers; None if a text is not one."""
    if has_hexadecimal(texts):
        return None
    try:
        return np.asarray(texts.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def _add_empty(column: "pa.Array", bad: dict[int, str]) -> dict[int, str]:
    """Return `bad` with "is empty" as the reason for rows without a value."""
    if not column.null_count:
        return bad
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
    return {**bad, **{int(row): "is empty" for row in np.flatnonzero(~valid)}}


def _check_precision(column: "pa.Array", place: str) -> None:
    """Raise a `DatasetError` for floats whose precision is coarser than whole numbers."""
    if pa.types.is_float64(column.type):
        return
    most = pc.max(pc.abs(column.cast(pa.float64()))).as_py() or 0.0
    if most > _MAX_EXACT:
        raise DatasetError(
            f"{place}: times up to {most:.0f} are of type {column.type}, which is exact only up to "
            f"{_MAX_EXACT:.0f}, so different times would be equal; give whole numbers or floats of "
            "64 bits"
        )
