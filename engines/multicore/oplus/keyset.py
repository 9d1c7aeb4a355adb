"""Implements the `out` argument of f_MK in compiled code.

`KeySetType` collects the keys of tuples whose buckets belong to this instance; the C struct behind it is `KeySet`
(core/oplus/kernel.h).
`OwnersType` collects the instances that own a tuple's keys, as a bit mask.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import models, register_model
from numba.extending import intrinsic

from streamlab.engines.multicore.kernels.inline_functions import overload_method_part, part

COLUMNS, COUNT, CAPACITY, REFUSED, OWNER, ME = 0, 8, 16, 24, 32, 40
_COLUMNS = (("keys", types.int64), ("buckets", types.int32), ("hashes", types.uint64))


@part
def mix_key(key: Any) -> Any:
    """Return the hash of a key, equal to that of core/run/key_table.h."""
    x = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def bucket_function(buckets: int, bucket: Any | None) -> Any:
    """Return the compiled function that maps a key and its hash to a bucket.

    Args:
        buckets: number of buckets.
        bucket: compiled bucket function of the operator; None uses the hash.
    """
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


class KeySetType(types.Type):
    """Numba type of the key set of one operator; `to_bucket` is its compiled bucket function."""

    def __init__(self, name: str, to_bucket: Callable[[Any, Any], Any]) -> None:
        self.to_bucket = to_bucket
        super().__init__(name=f"KeySet({name})")


@register_model(KeySetType)
class _KeySetModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: KeySetType) -> None:
        members = [
            ("keys", types.CPointer(types.int64)),
            ("buckets", types.CPointer(types.int32)),
            ("hashes", types.CPointer(types.uint64)),
            ("count", types.CPointer(types.int64)),
            ("refused", types.CPointer(types.int64)),
            ("capacity", types.int64),
            ("owner", types.CPointer(types.int32)),
            ("me", types.int64),
        ]
        super().__init__(dmm, fe_type, members)


def _word(builder: Any, base: Any, offset: int) -> Any:
    byte = builder.bitcast(base, ir.IntType(8).as_pointer())
    at = builder.gep(byte, [ir.Constant(ir.IntType(64), offset)])
    return builder.bitcast(at, ir.IntType(64).as_pointer())


def open_key_set(key_set: KeySetType) -> tuple[Any, Any]:
    """Return intrinsics (open, close) that wrap a C `KeySet` during one kernel call.

    In between the counters live on the stack; `close(keys, address)` writes them back.
    """

    @intrinsic
    def open_(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            keys = cgutils.create_struct_proxy(key_set)(context, builder)
            byte_pointer = ir.IntType(8).as_pointer()
            table = builder.inttoptr(
                builder.load(_word(builder, args[0], COLUMNS)), byte_pointer.as_pointer()
            )
            for i, (name, element) in enumerate(_COLUMNS):
                column = builder.load(builder.gep(table, [ir.Constant(ir.IntType(64), i)]))
                pointer_type = context.get_value_type(types.CPointer(element))
                setattr(keys, name, builder.bitcast(column, pointer_type))
            for name in ("count", "refused"):
                slot = cgutils.alloca_once(builder, ir.IntType(64))
                builder.store(ir.Constant(ir.IntType(64), 0), slot)
                setattr(keys, name, slot)
            keys.capacity = builder.load(_word(builder, args[0], CAPACITY))
            owner = builder.load(_word(builder, args[0], OWNER))
            keys.owner = builder.inttoptr(
                owner, context.get_value_type(types.CPointer(types.int32))
            )
            keys.me = builder.load(_word(builder, args[0], ME))
            return keys._getvalue()

        return key_set(types.voidptr), codegen

    @intrinsic
    def close(typingctx: Any, keys: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(key_set)(context, builder, value=args[0])
            for name, offset in (("count", COUNT), ("refused", REFUSED)):
                builder.store(builder.load(getattr(proxy, name)), _word(builder, args[1], offset))
            return context.get_dummy_value()

        return types.void(key_set, types.voidptr), codegen

    return open_, close


def _reader(name: str, result: Any) -> Any:
    @intrinsic
    def read(typingctx: Any, keys: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(keys)(context, builder, value=args[0])
            return builder.load(getattr(proxy, name))

        return result(keys), codegen

    return read


count_keys = _reader("count", types.int64)
refused_keys = _reader("refused", types.int64)


def _element(name: str, element: Any, result: Any = types.int64) -> Any:
    @intrinsic
    def read(typingctx: Any, keys: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(keys)(context, builder, value=args[0])
            value = builder.load(builder.gep(getattr(proxy, name), [args[1]]))
            return context.cast(builder, value, element, result)

        return result(keys, types.int64), codegen

    return read


key_at = _element("keys", types.int64)
bucket_at = _element("buckets", types.int32)
hash_at = _element("hashes", types.uint64, types.uint64)


@intrinsic
def _append(typingctx: Any, keys: Any, key: Any, bucket: Any, mixed: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = cgutils.create_struct_proxy(keys)(context, builder, value=args[0])
        word = ir.IntType(64)
        owner = builder.sext(builder.load(builder.gep(proxy.owner, [args[2]])), word)
        mine = builder.icmp_signed("==", owner, proxy.me)
        count = builder.load(proxy.count)
        fits = builder.icmp_signed("<", count, proxy.capacity)
        # Write each key without a branch on its owner, which would be unpredictable; the count
        # grows only for keys of this instance. A key without room goes to the slot after the last.
        at = builder.select(fits, count, proxy.capacity)
        builder.store(args[1], builder.gep(proxy.keys, [at]))
        narrow = builder.trunc(args[2], ir.IntType(32))
        builder.store(narrow, builder.gep(proxy.buckets, [at]))
        builder.store(args[3], builder.gep(proxy.hashes, [at]))
        added = builder.zext(builder.and_(mine, fits), word)
        builder.store(builder.add(count, added), proxy.count)
        # Keys of other instances count as refused too, to avoid the same branch.
        refused = builder.zext(builder.not_(fits), word)
        builder.store(builder.add(builder.load(proxy.refused), refused), proxy.refused)
        return context.get_dummy_value()

    return types.void(keys, types.int64, types.int64, types.uint64), codegen


@overload_method_part(KeySetType, "add")
def _add(out: Any, key: Any) -> Any:
    to_bucket = out.to_bucket

    def add(out: Any, key: Any) -> None:
        mixed = mix_key(np.int64(key))
        _append(out, np.int64(key), to_bucket(np.int64(key), mixed), mixed)

    return add


class OwnersType(types.Type):
    """Numba type of the owners of a tuple's keys; `to_bucket` is the compiled bucket function."""

    def __init__(self, name: str, to_bucket: Callable[[Any, Any], Any]) -> None:
        self.to_bucket = to_bucket
        super().__init__(name=f"Owners({name})")


@register_model(OwnersType)
class _OwnersModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: OwnersType) -> None:
        members = [("owner", types.CPointer(types.int32)), ("mask", types.CPointer(types.int64))]
        super().__init__(dmm, fe_type, members)


def open_owners(owners: OwnersType) -> tuple[Any, Any]:
    """Return intrinsics (open, clear) for collecting the owners of a tuple's keys."""

    @intrinsic
    def open_(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(owners)(context, builder)
            proxy.owner = builder.bitcast(args[0], ir.IntType(32).as_pointer())
            proxy.mask = cgutils.alloca_once(builder, ir.IntType(64))
            return proxy._getvalue()

        return owners(types.voidptr), codegen

    @intrinsic
    def clear(typingctx: Any, out: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(owners)(context, builder, value=args[0])
            builder.store(ir.Constant(ir.IntType(64), 0), proxy.mask)
            return context.get_dummy_value()

        return types.void(owners), codegen

    return open_, clear


owners_mask = _reader("mask", types.int64)


@intrinsic
def _add_owner(typingctx: Any, out: Any, bucket: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = cgutils.create_struct_proxy(out)(context, builder, value=args[0])
        word = ir.IntType(64)
        owner = builder.zext(builder.load(builder.gep(proxy.owner, [args[1]])), word)
        bit = builder.shl(ir.Constant(word, 1), owner)
        builder.store(builder.or_(builder.load(proxy.mask), bit), proxy.mask)
        return context.get_dummy_value()

    return types.void(out, types.int64), codegen


@overload_method_part(OwnersType, "add")
def _add_owner_of(out: Any, key: Any) -> Any:
    to_bucket = out.to_bucket

    def add(out: Any, key: Any) -> None:
        _add_owner(out, to_bucket(np.int64(key), mix_key(np.int64(key))))

    return add
