// FlowCall: the C interface of compiled operators of typed dataflow graphs. dataflow/kernels.py makes them; offsets are
// law.
//
// Kernels return a position plus one, since compiled code that raises returns 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/kernel.h"

namespace lab {

// Makes the entry of a key that the table lacks (run/key_table.h), zeroed except for the stamp and the key. Null: no
// memory for it.
using MakeEntry = std::byte* (*)(void* table, std::int64_t key);

struct FlowCall {
  const void* const* columns;  // of items: the timestamp, the key unless it is of the unit type, the other fields
  std::int64_t base;           // item i is row base + i of every column
  void* table;                 // the `FlowTable` of keys
  void* start;                 // initial state of a new key
  MakeEntry make;
  std::int32_t* sources;  // out: for each emitted pair, its source item, or its entry at a marker
  std::int64_t marker;    // time of the marker
};
static_assert(offsetof(FlowCall, base) == 8 && offsetof(FlowCall, table) == 16 && offsetof(FlowCall, start) == 24);
static_assert(offsetof(FlowCall, make) == 32 && offsetof(FlowCall, sources) == 40 && offsetof(FlowCall, marker) == 48);

// Processes items [begin, end), or at a marker the entries of keys [begin, end). Returns the first that was not
// processed. That is below `end` only if there is less room than one may need, or no memory for a key.
using FlowKernel = std::int64_t (*)(const FlowCall* call, std::int64_t begin, std::int64_t end, Emit* out);

// Makes the initial state of a new key: before the first marker with `passed` 0, then with 1 at each marker. Returns
// kDone.
using StartKernel = std::int64_t (*)(void* start, std::int64_t passed);

}  // namespace lab
