"""Implements the `out` argument of f_MK in compiled code.

`KeySetType` collects the keys of tuples whose buckets belong to this instance; its C struct is `KeySet`
(core/oplus/kernel.h). During a kernel call its counters are on the stack.
`SingleKeyType` collects the keys of tuples that have exactly one key, whichever instance owns the key.
`OwnersType` collects as a bit mask which of 64 instances own a tuple's keys.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from streamlab.engines.multicore.kernels.inline_functions import overload_method_part, part
from streamlab.engines.multicore.kernels.intrinsics import (
    HALF,
    WORD,
    Code,
    StructType,
    counter,
    intrinsic,
    named_type,
)
from streamlab.engines.multicore.kernels.memory import KEY_SET, load

_COLUMNS = (("keys", types.int64), ("buckets", types.int32), ("hashes", types.uint64))
_COUNTERS = (("count", KEY_SET.count), ("refused", KEY_SET.refused))


@part
def mix_key(key: Any) -> Any:
    """Return the hash of a key, the same as in core/run/key_table.h."""
    x = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def bucket_function(buckets: int, bucket: Any | None) -> Any:
    """Return the compiled function that maps a key and its hash to a bucket; if `bucket` is None, the hash decides."""
    count = np.uint64(buckets)
    signed = np.int64(buckets)
    if bucket is None:

        @part
        def bucket_by_hash(key: Any, mixed: Any) -> Any:
            return np.int64(mixed % count)

        return bucket_by_hash

    @part
    def bucket_by_function(key: Any, mixed: Any) -> Any:
        return np.int64(bucket(key)) % signed

    return bucket_by_function


class KeySetType(StructType):
    """Numba type of the key set of one operator; `to_bucket` is its compiled bucket function."""

    def __init__(self, name: str, to_bucket: Callable[[Any, Any], Any]) -> None:
        self.to_bucket = to_bucket
        self.members = [(column, types.CPointer(kind)) for column, kind in _COLUMNS]
        self.members += [(name, types.CPointer(types.int64)) for name, _ in _COUNTERS]
        self.members += [
            ("capacity", types.int64),
            ("owner", types.CPointer(types.int32)),
            ("me", types.int64),
        ]
        super().__init__(name=f"KeySet({name})")


@intrinsic(lambda address, like: named_type(like)(types.voidptr, like))
def open_keys(code: Code, address: Any, like: Any) -> Any:
    """`open_keys(address, KEYS)`: return the empty key set in a `KeySet` for one kernel call."""
    keys = code.struct(code.result)
    columns = code.pointer(address, KEY_SET.columns)
    for i, (name, element) in enumerate(_COLUMNS):
        setattr(keys, name, code.pointer(columns, i, types.CPointer(element)))
    for name, _ in _COUNTERS:
        setattr(keys, name, code.local(WORD(0)))
    keys.capacity = code.word(address, KEY_SET.capacity)
    keys.owner = code.pointer(address, KEY_SET.owner, types.CPointer(types.int32))
    keys.me = code.word(address, KEY_SET.me)
    return keys._getvalue()


@intrinsic(lambda keys, address: types.void(keys, types.voidptr))
def close_keys(code: Code, keys: Any, address: Any) -> None:
    """`close_keys(keys, address)`: write the counters back to a `KeySet`."""
    for name, place in _COUNTERS:
        value = code.builder.load(getattr(keys, name))
        code.builder.store(value, code.element(address, place, WORD))


count_keys = counter("count")
refused_keys = counter("refused")


def _reader(name: str, element: Any, result: Any = types.int64) -> Any:
    """Return a function that reads an element of a key set's column."""

    @intrinsic(lambda keys, index: result(keys, types.int64))
    def read(code: Code, keys: Any, index: Any) -> Any:
        value = code.builder.load(code.builder.gep(getattr(keys, name), [index]))
        return code.context.cast(code.builder, value, element, result)

    return read


key_at = _reader("keys", types.int64)
bucket_at = _reader("buckets", types.int32)
hash_at = _reader("hashes", types.uint64, types.uint64)


def _append_to(code: Code, keys: Any, key: Any, bucket: Any, mixed: Any) -> None:
    """Add a key if this instance owns its bucket; if there is no room, count the key as refused."""
    builder = code.builder
    owner = builder.sext(builder.load(builder.gep(keys.owner, [bucket])), WORD)
    is_owned = builder.icmp_signed("==", owner, keys.me)
    count = builder.load(keys.count)
    fits = builder.icmp_signed("<", count, keys.capacity)
    # Write each key without a branch on its owner, which would be unpredictable; the count
    # grows only for keys of this instance. A key without room goes to the slot after the last.
    slot = builder.select(fits, count, keys.capacity)
    builder.store(key, builder.gep(keys.keys, [slot]))
    builder.store(builder.trunc(bucket, HALF), builder.gep(keys.buckets, [slot]))
    builder.store(mixed, builder.gep(keys.hashes, [slot]))
    added = builder.zext(builder.and_(is_owned, fits), WORD)
    builder.store(builder.add(count, added), keys.count)
    # Keys of other instances count as refused too, to avoid the same branch.
    code.add(keys.refused, builder.zext(builder.not_(fits), WORD))


_append = intrinsic(lambda keys, *values: types.void(keys, types.int64, types.int64, types.uint64))(
    _append_to
)


@overload_method_part(KeySetType, "add")
def _add(out: Any, key: Any) -> Any:
    to_bucket = out.to_bucket

    def add(out: Any, key: Any) -> None:
        mixed = mix_key(np.int64(key))
        _append(out, np.int64(key), to_bucket(np.int64(key), mixed), mixed)

    return add


@intrinsic(lambda keys, columns, index: types.void(keys, types.voidptr, types.int64))
def append_key(code: Code, keys: Any, columns: Any, index: Any) -> None:
    """`append_key(keys, columns, index)`: add key `index` of the columns of another set."""
    values = [
        code.builder.load(
            code.builder.gep(code.pointer(columns, i, types.CPointer(element)), [index])
        )
        for i, (_, element) in enumerate(_COLUMNS)
    ]
    _append_to(code, keys, values[0], code.builder.sext(values[1], WORD), values[2])


@part
def row_key(rows: Any, sources: Any, shifts: Any, place: Any) -> Any:
    """Return the index of the only key of the tuple at a place (core/oplus/kernel.h)."""
    source = np.int64(load(sources, place, np.uint8))
    return load(rows, place, np.int64) + load(shifts, source, np.int64)


class SingleKeyType(StructType):
    """Numba type of the keys of tuples with one key each; `to_bucket` is the compiled bucket function."""

    def __init__(self, name: str, to_bucket: Callable[[Any, Any], Any]) -> None:
        self.to_bucket = to_bucket
        self.members = [(column, types.CPointer(kind)) for column, kind in _COLUMNS]
        self.members += [(name, types.CPointer(types.int64)) for name in ("place", "count")]
        super().__init__(name=f"SingleKey({name})")


@intrinsic(lambda columns, like: named_type(like)(types.voidptr, like))
def open_single_key(code: Code, columns: Any, like: Any) -> Any:
    """`open_single_key(columns, SINGLE_KEY)`: return a set that writes keys to the columns of a key set."""
    keys = code.struct(code.result)
    for i, (name, element) in enumerate(_COLUMNS):
        setattr(keys, name, code.pointer(columns, i, types.CPointer(element)))
    keys.place, keys.count = code.local(WORD(0)), code.local(WORD(0))
    return keys._getvalue()


@intrinsic(lambda keys, place: types.void(keys, types.int64))
def expect_key(code: Code, keys: Any, place: Any) -> None:
    """`expect_key(keys, place)`: start a tuple, whose key goes to a place of the columns."""
    code.builder.store(place, keys.place)
    code.builder.store(WORD(0), keys.count)


@intrinsic(lambda keys, *values: types.void(keys, types.int64, types.int64, types.uint64))
def _put(code: Code, keys: Any, key: Any, bucket: Any, mixed: Any) -> None:
    """Write a key to the expected place, and count it."""
    builder = code.builder
    place = builder.load(keys.place)
    builder.store(key, builder.gep(keys.keys, [place]))
    builder.store(builder.trunc(bucket, HALF), builder.gep(keys.buckets, [place]))
    builder.store(mixed, builder.gep(keys.hashes, [place]))
    code.add(keys.count, WORD(1))


@overload_method_part(SingleKeyType, "add")
def _add_lone(out: Any, key: Any) -> Any:
    to_bucket = out.to_bucket

    def add(out: Any, key: Any) -> None:
        mixed = mix_key(np.int64(key))
        _put(out, np.int64(key), to_bucket(np.int64(key), mixed), mixed)

    return add


class OwnersType(StructType):
    """Numba type of the owners of a tuple's keys; `to_bucket` is the compiled bucket function."""

    def __init__(self, name: str, to_bucket: Callable[[Any, Any], Any]) -> None:
        self.to_bucket = to_bucket
        self.members = [
            ("owner", types.CPointer(types.int32)),
            ("first", types.int64),
            ("mask", types.CPointer(types.int64)),
        ]
        super().__init__(name=f"Owners({name})")


@intrinsic(lambda address, first, like: named_type(like)(types.voidptr, types.int64, like))
def open_owners(code: Code, address: Any, first: Any, like: Any) -> Any:
    """`open_owners(address, first, OWNERS)`: return the empty set of owners, by the table of buckets at `address`.

    Bit 0 is instance `first`; instances before it, and from `first + 64` on, have no bit.
    """
    owners = code.struct(code.result)
    owners.owner = code.builder.bitcast(address, HALF.as_pointer())
    owners.first = first
    owners.mask = code.local(WORD(0))
    return owners._getvalue()


@intrinsic(lambda owners: types.void(owners))
def clear_owners(code: Code, owners: Any) -> None:
    """`clear_owners(owners)`: remove all owners."""
    code.builder.store(WORD(0), owners.mask)


owners_mask = counter("mask")


@intrinsic(lambda out, bucket: types.void(out, types.int64))
def _add_owner(code: Code, out: Any, bucket: Any) -> None:
    builder = code.builder
    owner = builder.zext(builder.load(builder.gep(out.owner, [bucket])), WORD)
    place = builder.sub(owner, out.first)
    bit = builder.shl(WORD(1), builder.and_(place, WORD(63)))
    bit = builder.select(builder.icmp_unsigned("<", place, WORD(64)), bit, WORD(0))
    builder.store(builder.or_(builder.load(out.mask), bit), out.mask)


@overload_method_part(OwnersType, "add")
def _add_owner_of(out: Any, key: Any) -> Any:
    to_bucket = out.to_bucket

    def add(out: Any, key: Any) -> None:
        _add_owner(out, to_bucket(np.int64(key), mix_key(np.int64(key))))

    return add
