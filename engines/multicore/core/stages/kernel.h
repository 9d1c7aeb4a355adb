// The C interface of compiled operators of ordered pipelines. stages/kernels.py compiles them; offsets are law.
//
// A kernel returns a position plus one, since compiled code that raises returns 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/kernel.h"

namespace lab {

// Returns the state of a key in a table (`KeyStates`), zeroed if it is new, valid until the next call. Returns null if
// memory runs out; the kernel then stops before the record.
using FindState = void* (*)(void* states, std::int64_t key);

struct StageCall {
  const void* const* columns;  // columns of the records: the timestamp, then the fields
  std::int64_t base;           // record k is row base + k of every column
  const std::int32_t* order;   // entry i is record order[i]; null: record i, for operators without keys
  void* state;                 // stateful: the state; partitioned: the tables, a `KeyStates` for each partition
  FindState find;              // for a key missing from its table; see the look-up of kernels in `KeyStates`
  std::int32_t* sources;       // out: the input record of each output, in the order of Emit
  std::int64_t partitions;     // tables from `state` on; the function of the PartitionKernel selects a key's table
};
static_assert(offsetof(StageCall, base) == 8 && offsetof(StageCall, order) == 16 && offsetof(StageCall, state) == 24);
static_assert(offsetof(StageCall, find) == 32 && offsetof(StageCall, sources) == 40 &&
              offsetof(StageCall, partitions) == 48);

// Processes entries [begin, end), in order. Returns the first entry that it did not process. That is below `end` only
// if the room is less than one record may need, or memory for the state of its key runs out.
using StageKernel = std::int64_t (*)(const StageCall* call, std::int64_t begin, std::int64_t end, Emit* out);

// Writes the partition, below `partitions`, of each of the records [0, records). Returns `records` plus one.
using PartitionKernel = std::int64_t (*)(const void* const* columns, std::int64_t base, std::int64_t records,
                                         std::int64_t partitions, std::int32_t* result);

}  // namespace lab
