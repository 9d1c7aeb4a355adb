// FlowCall: the C interface of the operators of typed dataflow graphs, which dataflow/kernels.py compiles. Law: the
// offsets of the fields.
//
// Kernels return a position plus one, since compiled code that raises returns 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/kernel.h"

namespace lab {

// Returns the entry of a key, and makes it if the table lacks the key (run/key_table.h). A new entry is zero except for
// the stamp and the key. Returns null if there is no memory for the entry.
using MakeEntry = std::byte* (*)(void* table, std::int64_t key);

struct FlowCall {
  const void* const* columns;  // columns of items: the timestamp, the key unless it is of the unit type, other fields
  std::int64_t base;           // item i is row base + i of every column
  void* table;                 // the `FlowTable` of keys
  void* start;                 // initial state of a new key
  MakeEntry make;
  std::int32_t* sources;  // out: the source item of each emitted pair; at a marker, the source entry
  std::int64_t marker;    // time of the marker
};
static_assert(offsetof(FlowCall, base) == 8 && offsetof(FlowCall, table) == 16 && offsetof(FlowCall, start) == 24);
static_assert(offsetof(FlowCall, make) == 32 && offsetof(FlowCall, sources) == 40 && offsetof(FlowCall, marker) == 48);

// Processes items [begin, end), or at a marker the entries of keys [begin, end). Returns the position of the first item
// or entry that is not processed, plus one. The position is below `end` only if room for the next outputs, or memory
// for a key, is missing.
using FlowKernel = std::int64_t (*)(const FlowCall* call, std::int64_t begin, std::int64_t end, Emit* out);

// Before the first marker, with `passed` 0, makes the initial state of a new key. At each marker, with `passed` 1,
// updates this initial state. Returns kDone.
using StartKernel = std::int64_t (*)(void* start, std::int64_t passed);

}  // namespace lab
