"""Kernels of pipelines' operators by themselves: what they read."""

import ctypes
import mmap

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.keyset import mix_key
from streamlab.engines.multicore.stages.kernels import StageKernels
from streamlab.workloads.model.pipeline.program import Stage
from tests.processes import run_python

FIELDS = np.dtype([("key", np.int64)])
OUTPUT = np.dtype([("ts", np.int64), ("key", np.int64)])
RECORDS = 300


def key_of(record):
    """Give the record's key."""
    return record.key


def count(state, record, out):
    """Count the record."""
    state.n += 1
    out.emit(record.key)


class _Index(ctypes.Structure):  # `WindowIndex` of core/run/key_table.h
    _fields_ = (
        ("slots", ctypes.c_void_p),
        ("entries", ctypes.c_void_p),
        ("mask", ctypes.c_int64),
        ("shift", ctypes.c_int64),
    )


def run_beside_a_table_that_cannot_be_read():
    """Process records of the second of two partitions; reading of the first ends the process."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), page, 0) != 0:
        raise OSError("mprotect")
    second = _Index.from_address(address + page)
    slots = (ctypes.c_uint32 * 8)()
    second.slots, second.mask, second.shift = ctypes.addressof(slots), 7, 61
    states: dict[int, ctypes.Array[ctypes.c_int64]] = {}
    find_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

    @find_type
    def find(_, key):
        entry = states.setdefault(key, (ctypes.c_int64 * 8)())
        return ctypes.addressof(entry) + _core.STATE_AT

    candidates = np.arange(4 * RECORDS, dtype=np.int64)
    low = [int(mix_key.py_func(key)) & 0xFFFFFFFF for key in candidates]
    of_the_second = [key for key, word in zip(candidates, low, strict=True) if word * 2 >> 32 == 1]
    keys = np.array(of_the_second[:RECORDS])
    out_ts, out_key = (np.zeros(RECORDS, dtype=np.int64) for _ in range(2))
    sources, ts = np.zeros(RECORDS, dtype=np.int32), np.zeros(RECORDS, dtype=np.int64)
    columns = (ctypes.c_void_p * 2)(ts.ctypes.data, keys.ctypes.data)
    targets = (ctypes.c_void_p * 2)(out_ts.ctypes.data, out_key.ctypes.data)
    call = (ctypes.c_void_p * 7)(
        ctypes.addressof(columns),
        0,
        None,
        address + page - _core.KEY_STATES_BYTES,
        ctypes.cast(find, ctypes.c_void_p).value,
        sources.ctypes.data,
        2,
    )
    emit = (ctypes.c_int64 * 8)(ctypes.addressof(targets), 0, RECORDS, 0)
    stage = Stage(
        name="count",
        apply=count,
        key=key_of,
        state=np.dtype([("n", np.int64)]),
        output=OUTPUT,
    )
    kernels = StageKernels(stage, FIELDS)
    kernel = ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
    )(kernels.process())
    if kernel(ctypes.addressof(call), 0, RECORDS, ctypes.addressof(emit)) != RECORDS + 1:
        raise ArithmeticError("not all records were processed")
    if (out_key != keys).any():
        raise ArithmeticError("other records")


def test_a_keyed_operator_reads_no_table_but_those_of_its_records():
    program = f"import {__name__} as t; t.run_beside_a_table_that_cannot_be_read()"
    done = run_python("-c", program)
    assert done.returncode == 0, (done.returncode, done.stderr)
