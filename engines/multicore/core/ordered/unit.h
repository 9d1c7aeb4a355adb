// A unit: up to a batch of consecutive input records, and later what has become of them, on its way through a
// pipeline under one serial number.
//
// There are as many units as the window is wide; the unit of serial number s is number s mod their count. A unit
// belongs to one thread at a time, but for the groups of a partitioned operator: their threads read the records, and
// each writes its own group and its own part of `buffers[parts]`.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "stages/records.h"

namespace lab {

struct Unit;

// Slots of a ring with room for a window of units.
inline std::uint64_t slots_for(std::int64_t window) { return std::bit_ceil(static_cast<std::uint64_t>(window)); }

// Units that go on together, in the order of their serial numbers unless something else is said.
using Units = std::span<Unit* const>;

// The records of a unit that belong to one partition, or one bundle of them, of the operator that is next.
// On lines of its own: neighbouring groups are at different workers.
struct alignas(kCacheLine) Group {
  Unit* unit = nullptr;
  std::int32_t partition = 0;
  std::int32_t begin = 0;  // entries [begin, end) of Unit::order
  std::int32_t end = 0;
  std::int64_t ticket = 0;              // its turn within the partition; the shared worklist only
  std::int64_t made = 0;                // records that have come of it,
  std::unique_ptr<RecordBuffer> apart;  // here where they are more than its part of `parts` takes
};

struct alignas(kCacheLine) Unit {
  std::int64_t serial = 0;

  // The records, rows [base, base + records) of the columns: those of a stream, or of `buffers[in]`.
  const void* const* columns = nullptr;
  std::int64_t base = 0;
  std::int64_t records = 0;
  const std::int32_t* origins = nullptr;  // the input record that each came from; null: record k from input record k

  std::int64_t input_records = 0;
  const std::int64_t* due = nullptr;  // of each input record, with a load
  std::vector<std::int64_t> own_due;  // where they were put together
  bool timed = false;                 // whether it is noted when the first operator takes it
  // When that was; 0: not yet. Relaxed: written by who is first, read behind the last reordering, which orders it.
  std::atomic<std::int64_t> taken_ns{0};

  std::array<RecordBuffer, 3> buffers;
  std::size_t in = 0;
  std::size_t out = 1;                     // where the next operator writes
  static constexpr std::size_t parts = 2;  // where it writes by groups, which are put together in `out`

  // For a partitioned operator: which partition each record belongs to, the records ordered by group, the groups.
  std::vector<std::int32_t> partition_of;
  std::vector<std::int32_t> order;
  std::vector<Group> groups;
  std::int32_t group_count = 0;
  std::int32_t bundles = 0;    // how many there were when it was grouped
  std::int64_t part_room = 0;  // records of `parts` for each entry of `order`
  // Groups that are not done. acq_rel: whoever takes the last one sees what all others have written. On a line of its
  // own: it is counted down while others read the above.
  alignas(kCacheLine) std::atomic<std::int32_t> groups_left{0};
};

}  // namespace lab
