// The C interface of compiled operators of typed dataflow graphs. dataflow/kernels.py produces them; offsets are law.
//
// Kernels return a position plus one, since compiled code that raises returns 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/kernel.h"

namespace lab {

// Makes the entry of a key that the table does not have (run/key_table.h), zeroed but for the stamp and the key; null:
// there is no memory for it.
using MakeEntry = std::byte* (*)(void* table, std::int64_t key);

struct FlowCall {
  const void* const* columns;  // of items: the timestamp, the key unless it is of the unit type, the other fields
  std::int64_t base;           // item i is row base + i of every column
  void* table;                 // a `FlowTable`: of keys
  void* start;                 // the state of a key that is seen first
  MakeEntry make;
  std::int32_t* sources;  // out: for each pair that is given, the item that it comes from, or the entry at a marker
  std::int64_t marker;    // the time of the marker
};
static_assert(offsetof(FlowCall, base) == 8 && offsetof(FlowCall, table) == 16 && offsetof(FlowCall, start) == 24);
static_assert(offsetof(FlowCall, make) == 32 && offsetof(FlowCall, sources) == 40 && offsetof(FlowCall, marker) == 48);

// Processes items [begin, end), or at a marker the entries of so many keys; returns the first that was not processed:
// below `end` only when there is less room than one may need, or no memory for a key.
using FlowKernel = std::int64_t (*)(const FlowCall* call, std::int64_t begin, std::int64_t end, Emit* out);

// Makes the state of a key that is seen first: before the first marker with `passed` 0, then with 1 at each marker.
// Returns kDone.
using StartKernel = std::int64_t (*)(void* start, std::int64_t passed);

}  // namespace lab
