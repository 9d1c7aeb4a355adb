// Emit: the C interface of compiled user functions. kernels/ on the Python side compiles them; workers call them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lab {

// The arrays to which a kernel appends output records, one for each output field. Law: compiled code
// (kernels/emitter.py) relies on the offsets.
struct Emit {
  void* const* columns;
  std::int64_t count;
  std::int64_t capacity;
  std::int64_t refused;  // number of records emitted beyond the program's declared maximum, an error
};
static_assert(offsetof(Emit, columns) == 0 && offsetof(Emit, count) == 8);
static_assert(offsetof(Emit, capacity) == 16 && offsetof(Emit, refused) == 24);

// Updates states with the events [begin, end) of one stream, in order. `columns` are the columns of the stream: ts,
// tag (null if all events have one tag), payload. With `slots`, event i belongs to the state at
// `states + 8 * slots[tag[i]]`; a negative slot means that no state here owns the event. Without `slots`, all events
// belong to `states`. Returns the first event not processed, which is always above `begin`, and below `end` only if the
// output chunk may lack room for more. Compiled code that raises returns 0.
using RunKernel = std::int64_t (*)(void* states, const std::int32_t* slots, const void* const* columns,
                                   std::int64_t begin, std::int64_t end, Emit* out);

// The result of a fork or join that ran to its end. Compiled code that raises returns 0.
inline constexpr std::int64_t kDone = 1;

// Fills both parts from the state. `pred1[kind]` and `pred2[kind]` state whether the part may receive events of the
// kind.
using ForkKernel = std::int64_t (*)(const void* state, const std::uint8_t* pred1, const std::uint8_t* pred2,
                                    void* first, void* second);

// Fills the state from both parts.
using JoinKernel = std::int64_t (*)(const void* first, const void* second, void* state);

// Processes one event on many states. `states[i]` is the state of key `keys[i]`; `own` is the state of their group.
using AcrossKernel = std::int64_t (*)(void* own, void* const* states, const std::int32_t* keys, std::int64_t count,
                                      const void* const* columns, std::int64_t event, Emit* out);

// States occupy units of this many bytes, so a 31-bit slot index reaches 16 GiB.
inline constexpr std::int64_t kStateUnit = 8;

// A row of the join's first input and a row of its second input.
struct Pair {
  std::int64_t left;
  std::int64_t right;
};

}  // namespace lab
