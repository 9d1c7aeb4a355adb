"""Defines the records of the parametric pipeline, and the query parameters that describe its operators.

All words of payload are below 2^30. Products of two words, and sums of two such products, therefore
fit 64 bits, and plain Python, NumPy and compiled code compute the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np

from streamlab.workloads.model import ModelError, Parameter, Params
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATEFUL, STATELESS

RECORD = "record"

EVENT = np.dtype([("id", np.int64), ("key", np.int64), ("x0", np.int64)])
"""Input record: a unique id, a key, and one word of payload."""

KEY_SPACE = 1 << 16
"""Keys are in [0, KEY_SPACE)."""

MASK = (1 << 30) - 1
"""Numbers are reduced to their lowest 30 bits."""

MATRIX = ((0x1B873593, 0x2545F490), (0x19D699A5, 0x2127599B))
"""The matrix by which a record's vector is multiplied. Its determinant is odd, so it is invertible
modulo 2^30 and no information is lost."""

ID_MASK = (1 << 31) - 1
HASH_MASK = (1 << 32) - 1
SALT, FIRST_FACTOR, SECOND_FACTOR = 0x9E37, 0x9E3779B1, 0x45D9F3B
FIRST_SHIFT, SECOND_SHIFT = 15, 16
"""Constants of the hash by which an operator drops records."""

KINDS = {"sl": STATELESS, "ps": PARTITIONED, "sf": STATEFUL}
"""Abbreviations, as in table 1 of the paper."""

MAX_COPIES = 2**20
"""Maximum number of copies of a record by all operators together; ids must fit 64 bits."""

WORD_BYTES = 8
LEAST_TUPLE_BYTES = 4 * WORD_BYTES
"""Size of ts, id, key and one word of payload."""
MAX_TUPLE_BYTES = 1024
MAX_STATE_BYTES = 1 << 16

RANGE, HASH = "range", "hash"

QUERY = {
    "operators": Parameter(
        default="sl,ps",
        help="the operators, in order: sl (stateless), ps (partitioned), sf (stateful)",
    ),
    "iterations": Parameter(
        default="10",
        help="matrix products for each record: one number for all operators, or one for each, such as 10,200",
    ),
    "selectivity": Parameter(
        default="1",
        help="records forwarded for each input record: a whole number of copies, or the share "
        "forwarded, below 1; one value for all operators, or one for each",
    ),
    "state_bytes": Parameter(
        default="64",
        help=f"size of each state, a multiple of {WORD_BYTES}; each record reads and writes the whole state",
    ),
    "tuple_bytes": Parameter(
        default=32,
        help=f"size of a forwarded record with its time, a multiple of {WORD_BYTES}",
        minimum=LEAST_TUPLE_BYTES,
        maximum=MAX_TUPLE_BYTES,
    ),
    "partitioning": Parameter(
        default=RANGE,
        help=f"assignment of keys to partitions: {RANGE}, which preserves the skew, or {HASH}",
    ),
    "partitions": Parameter(
        default=100,
        help="partitions of each partitioned operator; does not change the answer",
        minimum=1,
        maximum=10_000,
    ),
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The settings of one operator.

    Attributes:
        name: abbreviation and index, such as `ps-1`.
        kind: `stateless`, `partitioned` or `stateful`.
        index: place in the pipeline, from 0.
        iterations: matrix products for each record.
        copies: records forwarded for each record that is not dropped.
        keep_below: records with a hash below this are not dropped; 2^32 with several copies.
        state_words: int64 words of a state; 0 for stateless operators.
        tuple_words: int64 words of payload of a forwarded record, without ts, id and key.
        partitions: number of partitions.
        by_range: whether keys are partitioned by range (else by hash).
    """

    name: str
    kind: str
    index: int
    iterations: int
    copies: int
    keep_below: int
    state_words: int
    tuple_words: int
    partitions: int
    by_range: bool


def output(words: int) -> np.dtype[np.void]:
    """Return the dtype of forwarded records with `words` words of payload, at least 1."""
    payload = [(f"x{word}", np.int64) for word in range(words)]
    return np.dtype([("ts", np.int64), ("id", np.int64), ("key", np.int64), *payload])


def settings_of(params: Params) -> tuple[Setting, ...]:
    """Return the operators that query parameters describe.

    Raises:
        ModelError: a parameter cannot be parsed, has a wrong number of entries, or makes too many
            copies.
    """
    names = [name.strip() for name in str(params["operators"]).split(",")]
    unknown = sorted(set(names) - set(KINDS))
    if unknown:
        raise ModelError(
            f"parametric: operators is {params['operators']!r}; give one or more of "
            f"{', '.join(KINDS)}, separated by commas"
        )
    iterations = _read_each("iterations", params, len(names), _count)
    selectivity = _read_each("selectivity", params, len(names), _selectivity)
    state_bytes = _read_each("state_bytes", params, len(names), _size)
    partitioning, tuple_bytes = params["partitioning"], int(params["tuple_bytes"])
    if partitioning not in (RANGE, HASH):
        raise ModelError(f"parametric: partitioning is {partitioning!r}; give {RANGE} or {HASH}")
    if tuple_bytes % WORD_BYTES:
        raise ModelError(
            f"parametric: tuple_bytes is {tuple_bytes}; give a multiple of {WORD_BYTES}"
        )
    copies = prod(copies for copies, _ in selectivity)
    if copies > MAX_COPIES:
        raise ModelError(
            f"parametric: selectivity is {params['selectivity']!r}: {copies} copies of a record; "
            f"the maximum is {MAX_COPIES}"
        )
    return tuple(
        Setting(
            name=f"{name}-{index}",
            kind=KINDS[name],
            index=index,
            iterations=iterations[index],
            copies=selectivity[index][0],
            keep_below=selectivity[index][1],
            state_words=0 if KINDS[name] == STATELESS else state_bytes[index] // WORD_BYTES,
            tuple_words=tuple_bytes // WORD_BYTES - 3,
            partitions=int(params["partitions"]),
            by_range=partitioning == RANGE,
        )
        for index, name in enumerate(names)
    )


def _read_each(name: str, params: Params, count: int, read: Callable[[str], T]) -> list[T]:
    texts = [text.strip() for text in str(params[name]).split(",")]
    if len(texts) not in (1, count):
        raise ModelError(
            f"parametric: {name} is {params[name]!r}, with {len(texts)} entries for {count} "
            "operators; give one for all, or one each"
        )
    try:
        values = [read(text) for text in texts]
    except ValueError as error:
        raise ModelError(f"parametric: {name} is {params[name]!r}: {error}") from error
    return values * count if len(values) == 1 else values


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**31:
        raise ValueError(f"{text!r} is not a whole number below 2^31")
    return int(text)


def _size(text: str) -> int:
    size = _count(text)
    if size % WORD_BYTES or not WORD_BYTES <= size <= MAX_STATE_BYTES:
        raise ValueError(
            f"{text} is not a multiple of {WORD_BYTES} from {WORD_BYTES} to {MAX_STATE_BYTES}"
        )
    return size


def _selectivity(text: str) -> tuple[int, int]:
    """Return the number of copies, and how many of 2^32 records are forwarded."""
    if text.isdecimal() and int(text) > 0:
        return int(text), 2**32
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise ValueError(f"{text!r} is neither a whole number above 0 nor a share between 0 and 1")
    return 1, round(share * 2**32)
