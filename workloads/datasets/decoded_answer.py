"""Decodes an answer for people: ids become texts, and event times become times in the zone of the input."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.integrity import dictionary_texts
from streamlab.workloads.datasets.tables.table_reader import KEYS
from streamlab.workloads.datasets.times.duration import PER_SECOND
from streamlab.workloads.model import Columns, Workload

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SINCE_1970 = "1970"
"""The value of `counted_from` in the origin of a dataset whose times count from 1970."""


def decode_answer(
    workload: Workload, dataset: Dataset, answer: Columns
) -> Mapping[str, Sequence[object]]:
    """Return the columns of an answer with ids as texts and event times as texts in the zone of the input.

    A declared workload states the meaning of its columns. In other workloads, `ts` is a time and the key field has the
    keys of the dataset. A column with the name of a dictionary has ids of that dictionary. Times stay numbers unless
    they count from 1970.

    Raises:
        DatasetError: a dictionary of the dataset is damaged.
    """
    files = {part.name: part for part in dataset.dictionaries}
    dictionaries, times = _meaning(workload)
    decoded: dict[str, Sequence[object]] = {}
    for name, values in answer.items():
        numbers = values.tolist()
        dictionary = dictionaries.get(name)
        if dictionary in files:
            texts = dictionary_texts(files[dictionary])
            decoded[name] = [texts[i] if 0 <= i < len(texts) else i for i in numbers]
        elif name in times and dataset.origin.get("counted_from") == SINCE_1970:
            unit, zone = str(dataset.origin["unit"]), ZoneInfo(str(dataset.origin["zone"]))
            digits = _fraction_digits(numbers, unit)
            decoded[name] = list(
                map(partial(_moment, unit=unit, zone=zone, digits=digits), numbers)
            )
        else:
            decoded[name] = numbers
    return decoded


def _meaning(workload: Workload) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the dictionary of each output column that has one, and the columns that hold times."""
    names = workload.program.output.names or ()
    if workload.declaration is None:
        key = workload.output.key_field
        return {name: KEYS if name == key else name for name in names}, frozenset({"ts"})
    columns = workload.declaration.output
    dictionaries = {c.name: c.dictionary for c in columns if c.dictionary is not None}
    return dictionaries, frozenset(c.name for c in columns if c.is_time)


def _fraction_digits(times: Sequence[int], unit: str) -> int:
    """Return the number of decimals of a second that the times need."""
    per_second = PER_SECOND[unit]
    digits = len(str(per_second)) - 1
    while digits and all(time % (per_second // 10 ** (digits - 1)) == 0 for time in times):
        digits -= 1
    return digits


def _moment(time: int, *, unit: str, zone: ZoneInfo, digits: int) -> object:
    """Return a time as text with `digits` decimals of a second; the number itself outside the years 1 to 9999."""
    per_second = PER_SECOND[unit]
    seconds, remainder = divmod(time, per_second)
    try:
        moment = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)
    except OverflowError:  # before the year 1 or after 9999
        return time
    fraction = f".{remainder * 10**digits // per_second:0{digits}d}" if digits else ""
    offset = f"{moment:%z}"
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}{offset[:3]}:{offset[3:]}"
