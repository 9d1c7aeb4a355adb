// StageCall: the C interface of the operators of ordered pipelines, which stages/kernels.py compiles. Law: the offsets
// of the fields.
//
// A kernel returns a position plus one, since compiled code that raises returns 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/kernel.h"

namespace lab {

// Returns the state of a key in a table (`KeyStates`). A new state is zero. The pointer is valid until the next call.
// Returns null if memory runs out; the kernel must then stop before the record.
using FindState = void* (*)(void* states, std::int64_t key);

struct StageCall {
  const void* const* columns;  // columns of the records: the timestamp, then the fields
  std::int64_t base;           // record k is row base + k of every column
  const std::int32_t* order;   // entry i is record order[i]; null, for operators without keys, if entry i is record i
  void* state;                 // the state of a stateful operator, or the `KeyStates` of all partitions
  FindState find;              // called only for a key that the table lacks; kernels look up other keys themselves
  std::int32_t* sources;       // out: the input record of each output, in the order of Emit
  std::int64_t partitions;     // number of tables at `state`; a key's partition selects the table
};
static_assert(offsetof(StageCall, base) == 8 && offsetof(StageCall, order) == 16 && offsetof(StageCall, state) == 24);
static_assert(offsetof(StageCall, find) == 32 && offsetof(StageCall, sources) == 40 &&
              offsetof(StageCall, partitions) == 48);

// Processes entries [begin, end), in order. Returns the first entry that is not processed, plus one. This entry is
// below `end` only if there is no room for the outputs of a record, or no memory for the state of the record's key.
using StageKernel = std::int64_t (*)(const StageCall* call, std::int64_t begin, std::int64_t end, Emit* out);

// Writes the partition of each of the records [0, records), a number below `partitions`. Returns `records` plus one.
using PartitionKernel = std::int64_t (*)(const void* const* columns, std::int64_t base, std::int64_t records,
                                         std::int64_t partitions, std::int32_t* result);

}  // namespace lab
