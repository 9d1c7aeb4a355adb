// Unit: up to a batch of consecutive input records, later their outputs, which cross an ordered pipeline together under
// one serial number.
//
// Units are reused: with n units, serial number s uses unit s mod n. A unit belongs to one thread at a time, with one
// exception: the workers at the groups of a partitioned operator read the records together. Each of these workers
// writes only its group and its part of `buffers[parts]`.
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

// Returns the number of slots of a ring with room for a window of units.
inline std::uint64_t slots_for(std::int64_t window) { return std::bit_ceil(static_cast<std::uint64_t>(window)); }

// Units that move together, in the order of their serial numbers unless stated otherwise.
using Units = std::span<Unit* const>;

// The records of a unit that belong to one partition, or to one bundle of partitions, of the next operator. Aligned to
// cache lines, since different workers process neighbouring groups.
struct alignas(kCacheLine) Group {
  Unit* unit = nullptr;
  std::int32_t partition = 0;
  std::int32_t begin = 0;  // entries [begin, end) of Unit::order
  std::int32_t end = 0;
  std::int64_t ticket = 0;                 // the group's turn within the partition; used by SharedGroups
  std::int64_t outputs = 0;                // number of outputs
  std::unique_ptr<RecordBuffer> overflow;  // the outputs if they exceed the group's part of `buffers[parts]`, else null
};

struct alignas(kCacheLine) Unit {
  std::int64_t serial = 0;

  // The records are rows [base, base + records) of the columns of a stream or of `buffers[in]`.
  const void* const* columns = nullptr;
  std::int64_t base = 0;
  std::int64_t records = 0;
  const std::int32_t* origins = nullptr;  // by record: the input record that caused it; null if k caused record k

  std::int64_t input_records = 0;     // number of input records to count when this unit is out
  const std::int64_t* due = nullptr;  // due time of each input record, with a load
  std::vector<std::int64_t> own_due;  // the due times of a unit merged from several runs
  bool timed = false;                 // whether the first operator records its start in `taken_ns`
  // Time at which the first operator started on the unit; 0 before. Relaxed: the first worker writes it; the last
  // reordering orders the write before the read.
  std::atomic<std::int64_t> taken_ns{0};

  std::array<RecordBuffer, 3> buffers;
  std::size_t in = 0;                      // index of the buffer with the records
  std::size_t out = 1;                     // index of the next operator's output buffer
  static constexpr std::size_t parts = 2;  // index of the groups' output buffer, from which rows are joined into `out`

  // For a partitioned operator: the partition of each record, the records ordered by group, and the groups.
  std::vector<std::int32_t> partition_of;
  std::vector<std::int32_t> order;
  std::vector<Group> groups;
  std::int32_t group_count = 0;
  std::int32_t bundles = 0;    // number of bundles when the unit was grouped
  std::int64_t part_room = 0;  // number of output records for which `buffers[parts]` has room, per entry of `order`
  // Number of groups not done. acq_rel: the worker of the last group sees all writes of the others. On a separate cache
  // line, since some workers count it down while others read the fields above.
  alignas(kCacheLine) std::atomic<std::int32_t> groups_left{0};
};

}  // namespace lab
