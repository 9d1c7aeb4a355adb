"""Imports the connections of the KDD Cup of 1999 as `outlier_detection` (docs/data.md).

The file has no times, so event time is the row number, from 0. Row r goes to stream r modulo the number of streams. So
the number of streams changes no event. `streamlab.workloads.inputs.connections.schema` defines the conversion of
features.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import BadRowError, Cells
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, Layout, Setting
from streamlab.workloads.datasets.stream_table import (
    StreamTable,
    event_columns,
    numbered_streams,
    share_rows,
)
from streamlab.workloads.inputs.connections.schema import (
    CATEGORICAL,
    CHECK,
    COLUMNS,
    COMBINATIONS,
    CONNECTION,
    FIELDS,
    INPUT,
    KINDS,
    LOGARITHMIC,
    TEXTS,
    scaled,
)
from streamlab.workloads.model import Block

NUMBERS = tuple(name for name in COLUMNS if name not in TEXTS)
_INT16_MAX = 2**15 - 1
_MAX_LOGARITHMIC = 2**62
"""Limit of the numbers of `LOGARITHMIC`. Their scaled values are below 2^13, so they fit int16."""


def _columns(cells: Cells) -> dict[str, object]:
    """Return combination, texts, label and numbers. `_share` replaces the time 0 by the row number."""
    label = cells.parse_texts("label", _label, pa.string())
    texts = {name: cells.parse_texts(name, partial(_word, name), pa.string()) for name in TEXTS}
    numbers = {
        name: cells.parse_texts(name, partial(_number, name), pa.int16()) for name in NUMBERS
    }
    parts = [texts[name] if name in texts else cells.stripped(name) for name in CATEGORICAL]
    combination = pc.binary_join_element_wise(*parts, "/")
    ts = np.zeros(len(cells), np.int64)
    return {"ts": ts, "combination": combination, **texts, "label": label, **numbers}


def _label(text: str) -> str:
    label = text.strip().removesuffix(".")
    if not label:
        raise BadRowError("column label is empty")
    return label


def _word(name: str, text: str) -> str:
    text = text.strip()
    if not text or "/" in text:
        raise BadRowError(f"column {name} is {text!r}, not a word without '/'")
    return text


def _number(name: str, text: str) -> int:
    """Return a feature as a whole number of 16 bits: rates in hundredths, and large numbers `scaled`."""
    text = text.strip()
    if name.endswith("_rate"):
        return _hundredths(name, text)
    if not (text.isascii() and text.isdigit()):
        raise BadRowError(f"column {name} is {text!r}, not a whole number from 0")
    highest = _INT16_MAX
    if name in LOGARITHMIC:
        highest = _MAX_LOGARITHMIC
    elif name in CATEGORICAL:
        highest = 1
    if len(text) > 19 or int(text) > highest:
        raise BadRowError(f"column {name} is {text}, above {highest}")
    return scaled(int(text)) if name in LOGARITHMIC else int(text)


def _hundredths(name: str, text: str) -> int:
    try:
        rate = float(text)
    except ValueError:
        raise BadRowError(f"column {name} is {text!r}, not a number from 0 to 1") from None
    if not 0 <= rate <= 1:
        raise BadRowError(f"column {name} is {text}, not from 0 to 1")
    return round(100 * rate)


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of connections, and the stream of checks; refuse too many combinations."""
    if entries["combination"] > COMBINATIONS:
        raise DatasetError(
            f"the rows have {entries['combination']} combinations of {', '.join(CATEGORICAL)}, but "
            f"outlier_detection supports {COMBINATIONS}; import fewer rows"
        )
    return (
        *numbered_streams(
            options.streams, "connection", event_columns(FIELDS), _share, kind=CONNECTION
        ),
        StreamTable(
            name="check",
            kinds=(CHECK,),
            dtypes={"ts": np.dtype(np.int64)},
            blocks=partial(_checks, options.settings["check-every"]),
        ),
    )


def _share(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the connections of one stream, with row numbers as times."""
    for share in share_rows("row", count, index, blocks):
        yield {**share, "ts": share["row"]}


def _checks(period: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield a check at every `period`th row, and at the last row."""
    rows = 0
    for block in blocks:
        row = np.asarray(block["row"])
        rows = int(row[-1]) + 1
        yield {"ts": row[row % period == period - 1]}
    if rows % period:
        yield {"ts": np.array([rows - 1])}


KDD_CUP = ImportKind(
    name="kdd-cup",
    workload=INPUT,
    help="connections of the KDD Cup of 1999: 41 features and a label, separated by commas",
    columns=(
        *((name, "string") for name in ("combination", *TEXTS, "label")),
        *((name, "int16") for name in NUMBERS),
    ),
    file_format=Layout(names=(*COLUMNS, "label"), delimiter=","),
    transform=lambda options: _columns,
    dictionaries={name: name for name in ("combination", *TEXTS, "label")},
    kinds=KINDS,
    streams=_streams,
    unit=None,
    settings=(
        Setting(
            name="check-every",
            default=20_000,
            help="Rows between two checks.",
            valid=lambda period: period >= 1,
            expected="1 or more",
        ),
    ),
    invents=("check",),
)
