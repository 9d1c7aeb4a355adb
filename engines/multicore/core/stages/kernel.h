// StageCall: the C interface of compiled operators of ordered pipelines. stages/kernels.py compiles them. Law: the
// offsets.
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
  const std::int32_t* order;   // entry i is record order[i]; null, for operators without keys, if entry i is record i
  void* state;                 // the state of a stateful operator, or the `KeyStates` of all partitions
  FindState find;              // called for a key that its table lacks; see the look-up of kernels in `KeyStates`
  std::int32_t* sources;       // out: the input record of each output, in the order of Emit
  std::int64_t partitions;     // number of tables at `state`; the key's partition selects the table
};
static_assert(offsetof(StageCall, base) == 8 && offsetof(StageCall, order) == 16 && offsetof(StageCall, state) == 24);
static_assert(offsetof(StageCall, find) == 32 && offsetof(StageCall, sources) == 40 &&
              offsetof(StageCall, partitions) == 48);

// Processes entries [begin, end), in order. Returns the first entry not processed, which is below `end` only if room
// for the outputs of one record, or memory for the state of its key, is missing.
using StageKernel = std::int64_t (*)(const StageCall* call, std::int64_t begin, std::int64_t end, Emit* out);

// Writes the partition, below `partitions`, of each of the records [0, records). Returns `records` plus one.
using PartitionKernel = std::int64_t (*)(const void* const* columns, std::int64_t base, std::int64_t records,
                                         std::int64_t partitions, std::int32_t* result);

}  // namespace lab
