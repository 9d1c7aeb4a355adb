// The C interface of compiled operators of ordered pipelines. stages/kernels.py produces them; offsets are law.
//
// Kernels return a position plus one, since compiled code that raises returns 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/kernel.h"

namespace lab {

// The state of a key in a table (`KeyStates`), zeroed when it is new; valid until the next call. Null: there is no memory
// for it, and the kernel is to stop before the record.
using FindState = void* (*)(void* states, std::int64_t key);

struct StageCall {
  const void* const* columns;  // of the records: the timestamp, then the fields
  std::int64_t base;           // record k is row base + k of every column
  const std::int32_t* order;   // entry i is record order[i]; null: record i, as of operators without keys
  void* state;                 // stateful: the state; partitioned: the tables, a `KeyStates` for each partition
  FindState find;              // for a key that its table does not have; `KeyStates` says how kernels look
  std::int32_t* sources;       // out: for each output, in the order of Emit, the record that it came from
  std::int64_t partitions;     // of a key's table from `state` on: by the function that the PartitionKernel has
};
static_assert(offsetof(StageCall, base) == 8 && offsetof(StageCall, order) == 16 && offsetof(StageCall, state) == 24);
static_assert(offsetof(StageCall, find) == 32 && offsetof(StageCall, sources) == 40 &&
              offsetof(StageCall, partitions) == 48);

// Processes entries [begin, end), in order; returns the first that it has not processed: below `end` only when there
// is less room than one record may need, or no memory for the state of its key.
using StageKernel = std::int64_t (*)(const StageCall* call, std::int64_t begin, std::int64_t end, Emit* out);

// Says which of `partitions` each of the records [0, records) belongs to; returns `records`, plus one.
using PartitionKernel = std::int64_t (*)(const void* const* columns, std::int64_t base, std::int64_t records,
                                         std::int64_t partitions, std::int32_t* result);

}  // namespace lab
