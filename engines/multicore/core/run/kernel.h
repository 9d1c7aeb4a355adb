// The C interface of compiled user functions. kernels/ on the Python side produces them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lab {

// Where a kernel appends output records, one array per output field.
// Offsets are read by the compiled code (kernels/emitter.py), so they are law.
struct Emit {
  void* const* columns;
  std::int64_t count;
  std::int64_t capacity;
  std::int64_t refused;  // records emitted beyond the program's declared maximum: an error
};
static_assert(offsetof(Emit, columns) == 0 && offsetof(Emit, count) == 8);
static_assert(offsetof(Emit, capacity) == 16 && offsetof(Emit, refused) == 24);

// Updates states with the events [begin, end) of one stream, in order. `columns` are the stream's: ts, tag
// (null when all events have one tag), payload. With `slots`, event i belongs to the state at
// `states + 8 * slots[tag[i]]`, or to nobody here when that slot is negative; without, all belong to `states`.
// Returns the first event not processed: below `end` only when the output chunk may not have room for more,
// and above `begin`. Compiled code that raises returns 0, which the caller takes for a failure.
using RunKernel = std::int64_t (*)(void* states, const std::int32_t* slots, const void* const* columns,
                                   std::int64_t begin, std::int64_t end, Emit* out);

// What a fork or join returns when it ran to its end; compiled code that raises returns 0.
inline constexpr std::int64_t kDone = 1;

// Fills both parts from the state. `pred1[kind]` tells whether the first part may be given that kind.
using ForkKernel = std::int64_t (*)(const void* state, const std::uint8_t* pred1, const std::uint8_t* pred2,
                                    void* first, void* second);

// Fills the state from both parts.
using JoinKernel = std::int64_t (*)(const void* first, const void* second, void* state);

// Processes one event on many states: `states[i]` is that of key `keys[i]`, `own` that of their group.
using AcrossKernel = std::int64_t (*)(void* own, void* const* states, const std::int32_t* keys, std::int64_t count,
                                      const void* const* columns, std::int64_t event, Emit* out);

// States are laid out in units of 8 bytes, so that a slot index reaches 16 GiB.
inline constexpr std::int64_t kStateUnit = 8;

}  // namespace lab
